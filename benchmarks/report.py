"""What was measured, as Markdown: a table of medians with their spread, and one of the targets."""

from collections.abc import Callable, Sequence

from benchmarks.figures import Judged, Spread, spread
from benchmarks.outcome import Outcome
from benchmarks.scenario import Case, Cell, Found, Measure, Scenario


def markdown(outcome: Outcome) -> str:
    """A section: numbers are the median of the rounds, and in brackets the lowest and highest."""
    scenario, found = outcome.scenario, outcome.found
    parts = [f"## {scenario.title}", _where(outcome), _table(_numbers(scenario, found))]
    if scenario.targets:
        parts.append(_table(_targets(outcome.judged)))
    parts += [f"Not installed, so not measured: {who}." for who in outcome.absent]
    parts += [
        f"Failed: {row.contestant}, {row.case}, round {row.round}: {row.failed}"
        for row in outcome.rows
        if row.failed
    ]
    return "\n\n".join(parts) + "\n"


def _where(outcome: Outcome) -> str:
    rounds, machine = max((row.round for row in outcome.rows), default=0), outcome.machine
    loads = [row.load for row in outcome.rows]
    load = f"{min(loads):g} to {max(loads):g}" if loads else "not known"
    there = f"{machine['cores']} cores ({machine['processor']}), Linux {machine['kernel']}"
    return f"Rounds: {rounds}. Machine: {there}. Load while it ran: {load}."


def _numbers(scenario: Scenario, found: Found) -> list[list[str]]:
    titles = [measure.title for measure in scenario.measures]
    lines = [
        [case.id, who, *cells]
        for case in scenario.cases
        for who in case.works
        if any(cells := _cells(scenario.measures, found, case, who))
    ]
    return [["", "who", *titles], *lines]


def _cells(measures: Sequence[Measure], found: Found, case: Case, who: str) -> list[str]:
    values = [(found.get(Cell(case.id, who, measure.id)), measure.scale) for measure in measures]
    return [shown(spread(several), scale) if several else "" for several, scale in values]


def shown(one: Spread, scale: float = 1.0) -> str:
    """`median (lowest..highest)`; the median alone where that is all."""
    return _with_ends(one, lambda value: significant(value * scale))


def _with_ends(one: Spread, tell: Callable[[float], str]) -> str:
    ends, middle = [tell(end) for end in (one.lowest, one.highest)], tell(one.median)
    return middle if set(ends) == {middle} else f"{middle} ({'..'.join(ends)})"


def significant(value: float) -> str:
    """Three digits that count, or all before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _targets(results: Sequence[Judged]) -> list[list[str]]:
    lines = []
    for one in results:
        tell = fraction if one.target.over and one.target.at_most < 1 else significant
        found = _with_ends(one.found, tell) if one.found else ""
        wanted = f"at most {tell(one.target.at_most)}"
        lines.append([one.target.what, found, wanted, one.verdict])
    return [["target", "found", "wanted", ""], *lines]


def fraction(value: float) -> str:
    """A small ratio as people say it: `1/50`."""
    return f"1/{significant(1 / value)}" if 0 < value < 1 else significant(value)


def _table(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    head, *rest = [_line(line, widths) for line in lines]
    return "\n".join([head, _line(["-" * width for width in widths], widths), *rest])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return f"| {' | '.join(padded)} |"
