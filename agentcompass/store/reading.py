"""Reads run directories, ours and the peer's, of this and the earlier layout; never writes.

One task that cannot be read costs only itself: it is named, and the others are read.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from agentcompass.errors import RecordCorrupt, SchemaUnsupported, StoreError
from agentcompass.records.attempt import (
    TASK_SCHEMA,
    AttemptResult,
    PublishedTask,
    TaskHeader,
    TaskIndex,
    attempt_name,
)
from agentcompass.records.checkpoint import (
    CHECKPOINT_SCHEMA,
    EVALUATION_SCHEMA,
    AttemptCheckpoint,
)
from agentcompass.records.convert import structure_record
from agentcompass.records.run_info import RUN_INFO_SCHEMA, RunInfo
from agentcompass.store.atomic import read_record
from agentcompass.store.layout import AttemptLayout, RunLayout, State, TaskLayout
from agentcompass.store.run_info_file import read_without_plans

# Adapted where it is read; what it lacks (classified failures) is not made up.
EARLIER_RUN_INFO_SCHEMA = "agentcompass.run_info.v2"
EARLIER_TASK_SCHEMA = "agentcompass.task.v2"

_RESULT_FIELDS = frozenset(field.name for field in attrs.fields(AttemptResult))
_NUMBER = re.compile(r"\d{1,18}")  # more digits are no number of an attempt, or none that is read
_SHARED_FIELDS = frozenset(field.name for field in attrs.fields(TaskHeader)) - {"task_id"}


@attrs.frozen(kw_only=True)
class StoredTask:
    """A task as it is on disk. `header` is None until the task was published.

    `state` is None in the earlier layout. `attempts` are those in the index; the result of one
    that has none yet is None.
    """

    directory: Path
    state: State | None
    task_id: str
    header: TaskHeader | None = None
    attempts: Mapping[int, AttemptResult | None]

    @property
    def is_published(self) -> bool:
        """Whether every attempt is done and shared fields are complete."""
        done = all(result is not None for result in self.attempts.values())
        return self.header is not None and self.state != "running" and done


@attrs.frozen(kw_only=True)
class UnreadableTask:
    """A task folder that cannot be read, and why."""

    directory: Path
    fault: str


def read_run_info(directory: Path, *, plans: bool = True) -> RunInfo:
    """run_info.json of a run directory, schema 3 or 2 (`schema_version` tells which).

    Without the `plans`, which may be many, it takes little time and memory.

    Raises `StoreError`: where there is none, `SchemaUnsupported`, or `RecordCorrupt`.
    """
    path = RunLayout(directory).run_info
    record = read_record(path) if plans else read_without_plans(path)
    if record is None:
        raise StoreError(f"{directory} is not a run directory: it has no {path.name}")
    record = _checked(record, path, RUN_INFO_SCHEMA, EARLIER_RUN_INFO_SCHEMA)
    return structure_record(record, RunInfo, source=str(path))


def read_tasks(directory: Path) -> Iterator[StoredTask | UnreadableTask]:
    """Every task of a run directory, one after another, the unreadable ones named."""
    layout = RunLayout(directory)
    count = Counter(name for _, name in layout.task_names())
    repeated = {name for name, number in count.items() if number > 1}
    for state, path in layout.task_folders():
        if path.name in repeated:
            yield UnreadableTask(directory=path, fault=f"{path.name} is there in several states")
            continue
        task = TaskLayout(path)
        if state == "running" and not task.index.exists():
            continue  # a crash came before anything was saved
        try:
            yield read_task(task, state)
        except StoreError as error:
            yield UnreadableTask(directory=path, fault=str(error))


def read_task(task: TaskLayout, state: State | None) -> StoredTask:
    """One task; raises `StoreError` naming the file and the field that is wrong."""
    record = read_record(task.index)
    if record is None:
        raise RecordCorrupt(f"{task.index}: there is no such file")
    task_id, numbers = as_index(record, source=str(task.index))
    header = None
    if record.keys() >= _SHARED_FIELDS:
        published = structure_record(record, PublishedTask, source=str(task.index))
        header = TaskHeader(
            task_id=published.task_id,
            category=published.category,
            ground_truth=published.ground_truth,
            attempt_plan=published.attempt_plan,
        )
    return StoredTask(
        directory=task.directory,
        state=state,
        task_id=task_id,
        header=header,
        attempts={number: read_result(task.attempt(number)) for number in numbers},
    )


def as_index(record: Any, *, source: str) -> tuple[str, list[int]]:
    """The id of a task and the numbers of its attempts, of its task.json.

    Raises `SchemaUnsupported`, or `RecordCorrupt` naming the fields that are wrong.
    """
    _checked(record, source, TASK_SCHEMA, EARLIER_TASK_SCHEMA)
    index = structure_record(record, TaskIndex, source=source)
    return index.task_id, _numbers(index, source)


def read_result(attempt: AttemptLayout) -> AttemptResult | None:
    """result.json of an attempt; None where there is none, or none but a count of retries."""
    if attempt.directory.is_symlink():
        raise RecordCorrupt(f"{attempt.directory} is a link")
    record = read_record(attempt.result)
    if has_no_result(record):
        return None
    return as_result(record, source=str(attempt.result))


def has_no_result(record: Any) -> bool:
    """Whether a result.json is not there, or only counts the retries so far."""
    return record is None or (isinstance(record, dict) and record.keys() == {"retry_count"})


def as_result(record: Any, *, source: str) -> AttemptResult:
    """A result.json as its record; raises `RecordCorrupt` naming the fields that are wrong."""
    result = structure_record(record, AttemptResult, source=source)
    if odd := record.keys() ^ _RESULT_FIELDS:
        raise RecordCorrupt(f"{source}: missing or unknown: {', '.join(sorted(odd))}")
    return result


def read_checkpoint(attempt: AttemptLayout) -> AttemptCheckpoint | None:
    """checkpoint.json of an attempt, None where there is none."""
    path = attempt.checkpoint
    record = read_record(path)
    if record is None:
        return None
    record = _checked(record, path, CHECKPOINT_SCHEMA)
    evaluation = record.get("evaluation")
    if evaluation is not None:
        evaluation = _checked(evaluation, path, EVALUATION_SCHEMA)
        record = {**record, "evaluation": _without_nulls(evaluation)}
    return structure_record(record, AttemptCheckpoint, source=str(path))


def _checked(record: Any, path: Path | str, *known: str) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise RecordCorrupt(f"{path}: expected an object")
    found = record.get("schema_version")
    if found not in known:
        raise SchemaUnsupported(f"{path}: schema {found!r} is not known; known: {', '.join(known)}")
    return record


def _numbers(index: TaskIndex, source: str) -> list[int]:
    numbers = []
    for text, name in index.attempts.items():
        if not _NUMBER.fullmatch(text) or name != attempt_name(int(text)):
            raise RecordCorrupt(f"{source}: attempts.{text:.40}: {name!r:.80} is not its folder")
        numbers.append(int(text))
    return sorted(numbers)


def _without_nulls(section: Any) -> Any:
    """The peer writes null where a field is empty; our records have their empty value there."""
    if isinstance(section, dict):
        return {key: _without_nulls(item) for key, item in section.items() if item is not None}
    return section
