"""What one earlier run holds of each attempt; everything blocks, nothing is written."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import attrs

from agentcompass.errors import RecordCorrupt, StoreError
from agentcompass.records.attempt import AttemptResult
from agentcompass.records.checkpoint import EVALUATION_SCHEMA
from agentcompass.records.request import AttemptPlan
from agentcompass.records.reuse import EarlierAttempt, Verdict
from agentcompass.records.run_info import RUN_INFO_SCHEMA, RunInfo
from agentcompass.store.layout import AttemptLayout, RunLayout, TaskLayout, task_folder
from agentcompass.store.reading import read_index, read_result, read_run_info

_EVALUATION = f'"{EVALUATION_SCHEMA}"'.encode()
_ANY_EVALUATION = b'"agentcompass.evaluation_checkpoint.'

log = logging.getLogger(__name__)


class Judge(Protocol):
    """What decides about attempts; `engine.reuse.Judge` is the real one."""

    def verdict(self, found: EarlierAttempt) -> Verdict:
        """Whether to keep its result, to resume from its checkpoint, or to execute it."""
        ...

    def completes(self, plan: AttemptPlan, kept: Mapping[int, AttemptResult]) -> bool:
        """Whether the kept attempts of a task leave nothing to do."""
        ...


@attrs.frozen(kw_only=True)
class Stored:
    """One attempt of an earlier run, and what is to be done with it."""

    layout: AttemptLayout
    run: "EarlierRun"
    verdict: Verdict
    result: AttemptResult | None


@attrs.frozen(kw_only=True)
class EarlierRun:
    """A run directory to read from, with the folders of its tasks by name."""

    layout: RunLayout
    info: RunInfo
    folders: Mapping[str, Sequence[Path]]

    def attempts(self, task_id: str, judge: Judge) -> Iterator[tuple[int, Stored]]:
        """The attempts of a task; what cannot be read is said and passed over."""
        try:
            for number, layout in self._layouts(task_id):
                try:
                    yield number, self._stored(layout, judge)
                except StoreError as error:
                    log.warning("task %s attempt %d is not reused: %s", task_id, number, error)
        except StoreError as error:
            log.warning("task %s is not reused: %s", task_id, error)

    def _layouts(self, task_id: str) -> Iterator[tuple[int, AttemptLayout]]:
        folders = self.folders.get(task_folder(task_id), ())
        if len(folders) > 1:
            raise RecordCorrupt(f"{folders[0].name} is there in several states")
        for folder in folders:
            task = TaskLayout(folder)
            if not task.index.exists():
                continue  # a crash came before anything was saved
            stored_id, numbers = read_index(task)
            if stored_id != task_id:
                raise RecordCorrupt(f"{task.index}: holds task {stored_id!r}")
            yield from ((number, task.attempt(number)) for number in numbers)

    def _stored(self, layout: AttemptLayout, judge: Judge) -> Stored:
        result = read_result(layout)
        found = EarlierAttempt(
            result=result,
            has_checkpoint=_has_saved_work(layout),
            is_classified=self.info.schema_version == RUN_INFO_SCHEMA,
        )
        return Stored(layout=layout, run=self, verdict=judge.verdict(found), result=result)


def open_earlier_run(directory: Path) -> EarlierRun:
    """The run in `directory`; raises `StoreError` where it is none, or none that can be read."""
    layout = RunLayout(directory)
    folders: dict[str, list[Path]] = {}
    info = read_run_info(directory)
    for _, path in layout.task_folders():
        folders.setdefault(path.name, []).append(path)
    return EarlierRun(layout=layout, info=info, folders=folders)


def _has_saved_work(layout: AttemptLayout) -> bool:
    """Whether there is work to score; it is validated before it is used."""
    try:
        data = layout.checkpoint.read_bytes()
    except OSError:
        return False
    if _EVALUATION in data:
        return True
    if _ANY_EVALUATION in data:
        log.info("%s is not resumed: it holds no classified result", layout.checkpoint)
    return False
