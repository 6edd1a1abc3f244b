"""The result of a run on stdout: what was measured, what is missing, and where it is."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentcompass.cli.output import emit, emit_table
from agentcompass.progress.text import visible

HEADERS = ("Metric", "Value", "Evaluated", "Missing", "Errors", "Tasks")
_NAMED_ISSUES = 5


def show_result(result: Mapping[str, Any], directory: Path | None) -> None:
    """Write the table of series and the run directory; `result` is what the SDK returns."""
    metadata = result.get("metadata", {})
    parts = " / ".join(str(metadata.get(key)) for key in ("benchmark", "harness", "model"))
    where, status = metadata.get("environment"), str(metadata.get("status")).replace("_", " ")
    emit(visible(f"{parts} on {where}: {status}"))
    series = result.get("metrics", {}).get("series", ())
    if series:
        emit_table(HEADERS, [series_row(entry) for entry in series])
    if "reused_from" in metadata:
        emit(_reuse(metadata))
    if "spent" in metadata:
        emit(_spent(metadata["spent"]))
    if result.get("evaluation_failed"):
        emit(_no_score(series))
    if directory is not None:
        emit(f"Run directory: {directory}")


def _no_score(series: Sequence[Mapping[str, Any]]) -> str:
    text = "No official score: some tasks ended with a FATAL issue"
    is_any = any(entry.get("reference_value") is not None for entry in series)
    return f"{text}; values are for reference." if is_any else f"{text}."


def _reuse(metadata: Mapping[str, Any]) -> str:
    counts = ", ".join(f"{count} {kind}" for kind, count in metadata["reuse_counts"].items())
    return visible(f"Attempts: {counts}; from run {metadata['reused_from'].get('run_id')}")


def _spent(spent: Mapping[str, Any]) -> str:
    tokens, cost = spent["total_tokens"], spent["cost_usd"]
    parts = (
        "tokens unknown" if tokens is None else f"{tokens} tokens",
        "cost unknown" if cost is None else f"{cost:.4f} US dollars",
    )
    unknown = spent["replies_without_usage"]
    lacking = f" (replies that did not say: {unknown})" if unknown else ""
    replayed = " (replayed)" if spent.get("replayed") else ""
    return f"Model calls{replayed}: {', '.join(parts)}{lacking}"


def fatal_issues(directory: Path) -> Iterator[str]:
    """A line for each task with a FATAL issue, the first few named."""
    tasks = sorted((directory / "details" / "fatal").glob("*/task.json"))
    for path in tasks[:_NAMED_ISSUES]:
        yield from _issues_of(path)
    if len(tasks) > _NAMED_ISSUES:
        yield f"and {len(tasks) - _NAMED_ISSUES} more tasks in {directory / 'details' / 'fatal'}"


def _issues_of(task_file: Path) -> Iterator[str]:
    task_id = _read(task_file).get("task_id", task_file.parent.name)
    for path in sorted(task_file.parent.glob("attempt-*/result.json")):
        for issue in _read(path).get("issues", ()):
            if issue.get("severity") == "fatal":
                attempt = path.parent.name.removeprefix("attempt-")
                about = f"{task_id}#{attempt} {issue.get('phase')} {issue.get('code')}"
                yield visible(f"{about}: {_first_line(issue.get('message'))}")


def series_row(series: Mapping[str, Any]) -> tuple[str, ...]:
    """One series of a report, under `HEADERS`."""
    counts = series.get("counts", {})
    total, evaluated = counts.get("total", 0), counts.get("evaluated", 0)
    numbers = (evaluated, total - evaluated, counts.get("error", 0), total)
    return (_label(series), _value(series), *(str(number) for number in numbers))


def _label(series: Mapping[str, Any]) -> str:
    display = series.get("display") or {}
    label = display.get("label") or series.get("metric_id")
    return f"{label} ({series.get('reducer')}@{series.get('k')})"


def _value(series: Mapping[str, Any]) -> str:
    precision = (series.get("display") or {}).get("precision")
    digits = 4 if precision is None else precision
    if series.get("value") is not None:
        return f"{series['value']:.{digits}f}"
    if series.get("reference_value") is not None:
        return f"{series['reference_value']:.{digits}f} (reference)"
    return "-"


def _read(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _first_line(text: object) -> str:
    return (str(text).splitlines() or [""])[0]
