"""What an earlier run recorded of its model's calls, read back; never writes."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import attrs

from agentcompass.errors import RecordCorrupt, SchemaUnsupported, StoreError, UsageError
from agentcompass.records.convert import structure_record
from agentcompass.records.exchange import EXCHANGE_SCHEMA, Exchange, Marks
from agentcompass.store.atomic import named_errors
from agentcompass.store.encode import decode
from agentcompass.store.exchange_file import marks_of
from agentcompass.store.layout import STATES, RunLayout, TaskLayout
from agentcompass.store.reading import read_run_info
from agentcompass.store.redact import Redactor
from agentcompass.store.shortening import whole_again

log = logging.getLogger(__name__)


@attrs.frozen(kw_only=True)
class RecordedCalls:
    """The calls of every attempt of one run; every method blocks."""

    directory: Path
    redactor: Redactor

    def executions(self, task_id: str, attempt: int) -> list[list[Exchange]]:
        """The calls of an attempt by its executions, as they ended; raises `StoreError`.

        A last line that was never finished is said and passed over.
        """
        found: dict[str, list[Exchange]] = {}
        tasks = (RunLayout(self.directory).task(task_id, state) for state in STATES)
        files = (task.attempt(attempt).exchanges for task in tasks)
        # The first only: a task that goes on may move from one state to the next meanwhile.
        if (path := next(filter(Path.is_file, files), None)) is not None:
            with named_errors(path):
                for exchange in _read(path):
                    found.setdefault(exchange.execution, []).append(exchange)
        return list(found.values())

    def marks(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]
    ) -> Marks:
        """The digests of a request, to be compared with recorded ones."""
        return marks_of(messages, tools, self.redactor)


def open_recorded_calls(directory: Path, benchmark: str, redactor: Redactor) -> RecordedCalls:
    """The calls that the run in `directory` recorded; blocking.

    Raises `UsageError` where it is no run, one of another benchmark, or one that recorded nothing.
    """
    where = "--model-params: path:"
    try:
        info = read_run_info(directory, plans=False)
    except StoreError as error:
        raise UsageError(f"{where} {error}") from error
    section = info.request.get("benchmark")
    recorded = section.get("id") if isinstance(section, Mapping) else None
    if recorded != benchmark:
        raise UsageError(f"{where} {directory} is a run of {recorded}, not of {benchmark}")
    with named_errors(directory):
        if not _has_recorded(RunLayout(directory)):
            raise UsageError(
                f"{where} {directory} has recorded no call; a run records with"
                " --model-params '{\"record\": true}'"
            )
    return RecordedCalls(directory=directory, redactor=redactor)


def _has_recorded(layout: RunLayout) -> bool:
    tasks = (TaskLayout(folder) for _, folder in layout.task_folders())
    return any(
        task.attempt(number).exchanges.is_file()
        for task in tasks
        for number in task.attempt_numbers()
    )


def _read(path: Path) -> Iterator[Exchange]:
    before: dict[str, dict[str, Any]] = {}  # of each execution, the marks of its line before
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.endswith(b"\n"):
                log.warning("%s: its last line was never finished, and is left out", path)
                return
            source = f"{path}, line {number}"
            record = _checked(decode(line, source=source), source)
            execution = str(record.get("execution"))
            marks = _marks(record, before.get(execution, {}), source)
            before[execution] = marks
            yield structure_record({**record, "marks": marks}, Exchange, source=source)


def _checked(record: Any, source: str) -> Mapping[str, Any]:
    found = record.get("schema_version") if isinstance(record, Mapping) else None
    if found != EXCHANGE_SCHEMA:
        raise SchemaUnsupported(
            f"{source}: schema {found!r} is not known; known: {EXCHANGE_SCHEMA}"
        )
    return cast("Mapping[str, Any]", record)


def _marks(record: Mapping[str, Any], before: Mapping[str, Any], source: str) -> dict[str, Any]:
    try:
        return whole_again(record["marks"], before)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RecordCorrupt(f"{source}: its marks do not continue those before them") from error
