"""Pictures of a scenario, as SVG."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from benchmarks.contestants import CONTESTANTS
from benchmarks.figures import Spread, spread
from benchmarks.scenario import Cell, Found, Measure, Plot, Scenario

# Text stays text, and the same numbers give the same file.
mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "agentcompass", "font.size": 10})

# How many times the lowest the highest may be on a linear scale.
_FAR = 20

_COLOURS = dict(zip(CONTESTANTS, mpl.color_sequences["tab10"], strict=False))


def draw(scenario: Scenario, found: Found, folder: Path) -> list[Path]:
    """A file for each plot of which there is anything to show."""
    return [path for plot in scenario.plots if (path := _drawn(scenario, plot, found, folder))]


def _drawn(scenario: Scenario, plot: Plot, found: Found, folder: Path) -> Path | None:
    series = _series(scenario, plot, found)
    if not series:
        return None
    bars = 0 if plot.x else sum(map(len, series.values()))
    figure = Figure(figsize=(8, max(4.0, 2.0 + 0.25 * bars)), layout="constrained")
    axes = figure.add_subplot()
    (_lines if plot.x else _bars)(axes, plot, series)
    axes.set_title(plot.title, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower left", frameon=False, ncols=2, fontsize=9)
    path = folder / f"{scenario.id}-{plot.id}.svg"
    figure.savefig(path, metadata={"Date": None})
    return path


Series = Mapping[str, Mapping[str, Spread]]


def _series(scenario: Scenario, plot: Plot, found: Found) -> Series:
    """By contestant, and by case in their order, what the measure was in its unit."""
    measure = next(one for one in scenario.measures if one.id == plot.measure)
    cases = plot.x or plot.cases or [case.id for case in scenario.cases]
    everyone = dict.fromkeys(who for case in scenario.cases for who in case.works)
    series = {who: _values(measure, who, list(cases), found) for who in everyone}
    return {who: values for who, values in series.items() if values}


def _values(measure: Measure, who: str, cases: Sequence[str], found: Found) -> dict[str, Spread]:
    cells = {case: found.get(Cell(case, who, measure.id)) for case in cases}
    return {
        case: spread([value * measure.scale for value in values])
        for case, values in cells.items()
        if values
    }


def _lines(axes: Axes, plot: Plot, series: Series) -> None:
    for who, values in series.items():
        axes.errorbar(
            [plot.x[case] for case in values],
            [one.median for one in values.values()],
            yerr=_errors(list(values.values())),
            **_look(who),
            marker="o",
            capsize=3,
        )
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,g}")
    _scale(axes, "y", series)
    axes.set_xlabel(plot.x_title)
    axes.grid(visible=True, alpha=0.3)


def _bars(axes: Axes, _plot: Plot, series: Series) -> None:
    cases = list(dict.fromkeys(case for values in series.values() for case in values))
    height = 0.8 / len(series)
    for index, (who, values) in enumerate(series.items()):
        places = [cases.index(case) + index * height for case in values]
        middle = [one.median for one in values.values()]
        errors = _errors(list(values.values()))
        bars = axes.barh(places, middle, height, xerr=errors, capsize=2, **_look(who))
        axes.bar_label(bars, fmt="{:.3g}", padding=3, fontsize=8)
    axes.set_yticks([place + 0.4 - height / 2 for place in range(len(cases))], cases)
    axes.invert_yaxis()
    _scale(axes, "x", series)


def _scale(axes: Axes, name: str, series: Series) -> None:
    """From zero; by powers of ten where the contestants lie too far apart for that."""
    shown = [one.median for values in series.values() for one in values.values()]
    above = [value for value in shown if value > 0]
    if above and max(above) > _FAR * min(above):
        axes.set(**{f"{name}scale": "log"})
        axis = axes.xaxis if name == "x" else axes.yaxis
        axis.set_major_formatter("{x:,g}")
        axis.set_minor_formatter(NullFormatter())
    else:
        axes.set(**{f"{name}lim": (0, None)})


def _errors(values: Sequence[Spread]) -> list[list[float]]:
    return [
        [one.median - one.lowest for one in values],
        [one.highest - one.median for one in values],
    ]


def _look(who: str) -> dict[str, Any]:
    named = CONTESTANTS.get(who)
    return {"label": named.title if named else who, "color": _COLOURS.get(who, "grey")}
