"""A report as people read it: summary.md, and the `summary` that the SDK returns."""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from agentcompass.records.metrics import (
    PRIMARY_KINDS,
    Breakdown,
    MetricReport,
    MetricSeries,
    metric_label,
)

_COLUMNS = (
    *("Metric", "Role", "Reducer", "Formula", "Value"),
    *("Evaluated", "Error", "Unavailable", "Total"),
)
# What a run's final status says of tasks that never finished; None is a run that wrote no status.
CUT_SHORT: Mapping[str | None, str] = {
    "timed_out": "timed out",
    "cancelled": "cancelled",
    None: "no final state was written",
}
FAILED = (
    "**Evaluation failed:** no official score. "
    "Values labelled reference exclude all tasks with final FATAL issues."
)


def headline(report: MetricReport) -> MetricSeries | None:
    """The series whose counts stand for the run: the primary's under the report's strategy."""
    primary = [series for series in report.series if series.metric_id in PRIMARY_KINDS]
    by_strategy = [series for series in primary if series.reducer == report.strategy]
    return next(iter([*by_strategy, *primary, *report.series]), None)


def render_summary(
    report: MetricReport, *, benchmark_id: str, model_id: str, cut_short: str | None = None
) -> str:
    """The text of summary.md; `cut_short` says what ended the run early, such as `timed out`."""
    series = headline(report)
    parts = [
        f"# {benchmark_id.upper()} Evaluation Results",
        f"**Model:** `{model_id}`",
        _counts(series),
        _cut_short(cut_short),
        _missing(series),
        *(_one_attempt(report, series) if report.k == 1 else _many_attempts(report)),
        FAILED if report.evaluation_failed else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def summary_mapping(report: MetricReport) -> dict[str, Any]:
    """The key `summary` of what the SDK returns for a run."""
    return {
        "overview": overview(report),
        "evaluation_failed": report.evaluation_failed,
        "plan": {"k": report.k, "strategy": report.strategy, "aggregation": report.aggregation},
        "metrics": {series.series_id: series.value for series in _headlines(report)},
        "series": [_entry(series) for series in report.series],
    }


def overview(report: MetricReport) -> str:
    """The headline series in one line: `Correct (avg@3): 0.5556, Correct (pass@3): 0.6667`."""
    return ", ".join(_overview(series) for series in _headlines(report))


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A GitHub table, left-aligned, its columns two wider than their headers or as their cells.

    Pipes and line breaks in a cell are escaped: a label must not make or break a column.
    """
    cells = [[_cell(cell) for cell in row] for row in rows]
    widths = [
        max(len(header) + 2, *(len(row[column]) for row in cells), 0)
        for column, header in enumerate(headers)
    ]
    lines = [_line(headers, widths), "|" + "|".join("-" * (width + 2) for width in widths) + "|"]
    return "\n".join([*lines, *(_line(row, widths) for row in cells)])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return "| " + " | ".join(padded) + " |"


def _cell(text: str) -> str:
    return " ".join(text.splitlines()).replace("|", "\\|")


def _counts(series: MetricSeries | None) -> str:
    if series is None:
        return ""
    counts = series.counts
    return (
        f"**Total:** {counts.total}\n"
        f"**Evaluated:** {counts.evaluated}/{counts.total}\n"
        f"**Invalidated:** {counts.invalidated}\n"
        f"**Error:** {counts.error}"
    )


def _cut_short(reason: str | None) -> str:
    if reason is None:
        return ""
    return f"**Cut short:** {reason}; the tasks that had not finished are missing."


def _missing(series: MetricSeries | None) -> str:
    """How many tasks are not in the mean, and what they could make of it."""
    if series is None or series.counts.evaluated == series.counts.total:
        return ""
    missing, total = series.counts.total - series.counts.evaluated, series.counts.total
    verb = "is" if missing == 1 else "are"
    text = f"**Missing:** {missing} of {total} tasks {verb} not in the score."
    interval = series.extra.get("interval")
    if not interval:
        return text
    low, high = (_number(series, end) for end in interval)
    return f"{text} Counted as failed it is {low}, counted as solved {high}."


def _one_attempt(report: MetricReport, series: MetricSeries | None) -> list[str]:
    rows = [(each.metric_id, _value(each, each)) for each in report.series]
    details = [
        _details(report, "category", series.categories if series else {}),
        _details(report, "hierarchy", series.hierarchy if series else {}),
    ]
    return [f"## Metrics\n\n{table(('Metric', 'Value'), rows)}", *details]


def _details(report: MetricReport, name: str, parts: Mapping[str, Breakdown]) -> str:
    """The parts of every series beside each other, with the counts of the headline's."""
    if not parts:
        return ""
    rows = [
        [key, *(_part(series, name, key) for series in report.series), *_part_counts(part)]
        for key, part in sorted(parts.items())
    ]
    metrics = [series.metric_id for series in report.series]
    columns = table([name, *metrics, "total", "evaluated", "error"], rows)
    return f"## Details: {name}\n\n{columns}"


def _part(series: MetricSeries, name: str, key: str) -> str:
    parts = series.hierarchy if name == "hierarchy" else series.categories
    return _value(series, parts.get(key))


def _part_counts(part: Breakdown) -> tuple[str, str, str]:
    return str(part.counts.total), str(part.counts.evaluated), str(part.counts.error)


def _many_attempts(report: MetricReport) -> list[str]:
    rows = [_row(series) for series in report.series]
    plan = f"`k={report.k}`, strategy `{report.strategy}`, aggregation `{report.aggregation}`"
    return [
        f"**Attempt plan:** {plan}",
        f"## Metrics\n\n{table(_COLUMNS, rows)}",
        "Full metric data: [metrics.json](metrics.json)",
    ]


def _row(series: MetricSeries) -> tuple[str, ...]:
    counts = series.counts
    numbers = (counts.evaluated, counts.error, counts.unavailable, counts.total)
    told = (_label(series), series.role, series.reducer, series.aggregation)
    return *told, _value(series, series), *map(str, numbers)


def _label(series: MetricSeries) -> str:
    label = series.display.label if series.display else None
    return f"{label or metric_label(series.metric_id)} ({series.reducer}@{series.k})"


def _value(series: MetricSeries, part: MetricSeries | Breakdown | None) -> str:
    if part is None:
        return "-"
    if part.reference_value is not None:
        return f"{_number(series, part.reference_value)} (reference)"
    return "-" if part.value is None else _number(series, part.value)


def _number(series: MetricSeries, value: float) -> str:
    precision = series.display.precision if series.display else None
    return f"{value:.{4 if precision is None else precision}f}"


def _headlines(report: MetricReport) -> list[MetricSeries]:
    return [series for series in report.series if series.role == "headline"]


def _overview(series: MetricSeries) -> str:
    value = "unavailable" if series.value is None else _number(series, series.value)
    text = f"{_label(series)}: {value}"
    if series.reference_value is None:
        return text
    counts = series.counts
    reference = _number(series, series.reference_value)
    return f"{text}; reference={reference} ({counts.evaluated}/{counts.total} valid tasks)"


def _entry(series: MetricSeries) -> dict[str, Any]:
    return {
        "series_id": series.series_id,
        "metric_id": series.metric_id,
        "reducer": series.reducer,
        "aggregation": series.aggregation,
        "value": series.value,
        "reference_value": series.reference_value,
        "counts": attrs.asdict(series.counts),
    }
