"""Medians, spreads and ratios: pure functions of what was measured."""

import math
import statistics
from collections.abc import Collection, Mapping, Sequence

import attrs

from benchmarks.scenario import Cell, Found, Target


@attrs.frozen
class Spread:
    """The median of some rounds, and their lowest and highest."""

    median: float
    lowest: float
    highest: float


def spread(values: Sequence[float]) -> Spread:
    """That of at least one value."""
    return Spread(statistics.median(values), min(values), max(values))


def ratio(of: Spread, over: Spread) -> Spread | None:
    """The ratio of the medians; its spread is the widest that the rounds allow.

    None where there is nothing to divide by. The rounds of both need not be as many.
    """
    if over.median <= 0:
        return None
    ends = [_divided(one, other) for one in _ends(of) for other in _ends(over)]
    return Spread(of.median / over.median, min(ends), max(ends))


def _ends(one: Spread) -> tuple[float, float]:
    return one.lowest, one.highest


def _divided(one: float, other: float) -> float:
    """Without a bound where a round was lost in the noise of starting."""
    return one / other if other > 0 else math.inf


@attrs.frozen
class Size:
    """How many tasks a case has, and the case of one task, which tells what starting costs."""

    tasks: int
    start: str


def a_task(
    found: Found, measures: Collection[str], sizes: Mapping[str, Size]
) -> dict[Cell, list[float]]:
    """Numbers of a task beyond the start, in cells whose measure ends in `_a_task`.

    The start is the median of all rounds, so that its noise is not in the spread of the rest.
    """
    made = {}
    for cell, values in found.items():
        size = sizes.get(cell.case)
        if size is None or size.tasks < 2 or cell.measure not in measures:
            continue
        if start := found.get(attrs.evolve(cell, case=size.start)):
            base, further = statistics.median(start), size.tasks - 1
            told = attrs.evolve(cell, measure=f"{cell.measure}_a_task")
            made[told] = [(value - base) / further for value in values]
    return made


@attrs.frozen(kw_only=True)
class Judged:
    """A target and what was found; where that is None, `unknown` says why."""

    target: Target
    found: Spread | None
    unknown: str = ""

    @property
    def verdict(self) -> str:
        """By the median; a spread that lies on both sides of the target is said to."""
        if self.found is None:
            return self.unknown
        if self.found.median > self.target.at_most:
            return "not met"
        return "met" if self.found.highest <= self.target.at_most else "met, not in every round"


def judged(target: Target, found: Found) -> Judged:
    """Whether a target is met."""
    needed = [cell for cell in (target.of, target.over) if cell is not None]
    if not all(found.get(cell) for cell in needed):
        return Judged(target=target, found=None, unknown="not measured")
    of, *over = [spread(found[cell]) for cell in needed]
    told = ratio(of, over[0]) if over else of
    return Judged(target=target, found=told, unknown="lost in the noise")
