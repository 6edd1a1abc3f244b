"""The result of a launch: what each request measured on stdout, what went wrong on stderr."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from agentcompass.cli.bugs import process_redactor
from agentcompass.cli.output import emit, emit_table, tell
from agentcompass.cli.result import HEADERS, fatal_issues, series_row
from agentcompass.progress.text import visible
from agentcompass.records.orchestration import RequestOutcome


def show_outcomes(outcomes: Sequence[RequestOutcome]) -> None:
    """Write a table with a row for each series of each request, their directories and errors."""
    emit_table(("Request", "Status", *HEADERS), [row for each in outcomes for row in _rows(each)])
    for outcome in outcomes:
        if "output_dir" in outcome.paths:
            emit(visible(f"{outcome.name}: {outcome.paths['output_dir']}"))
    for line in (line for each in outcomes for line in _faults(each)):
        tell(process_redactor().text(visible(line)))


def _rows(outcome: RequestOutcome) -> Iterator[tuple[str, ...]]:
    head = (visible(outcome.name), outcome.status.replace("_", " "))
    series = (outcome.result or {}).get("metrics", {}).get("series", ())
    for entry in series:
        yield (*head, *series_row(entry))
    if not series:
        yield (*head, *("-" for _ in HEADERS))


def _faults(outcome: RequestOutcome) -> Iterator[str]:
    if "output_dir" in outcome.paths:
        for line in fatal_issues(Path(outcome.paths["output_dir"])):
            yield f"{outcome.name}: {line}"
    if outcome.error:
        yield f"{outcome.name}: {outcome.error}"
