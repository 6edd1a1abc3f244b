"""What one earlier run holds of each attempt; everything blocks, nothing is written."""

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import attrs

from agentcompass.errors import RecordCorrupt, StoreError
from agentcompass.records.attempt import AttemptResult
from agentcompass.records.checkpoint import EVALUATION_SCHEMA
from agentcompass.records.request import AttemptPlan
from agentcompass.records.reuse import EarlierAttempt, Judgement, Verdict
from agentcompass.records.run_info import RUN_INFO_SCHEMA, RunInfo
from agentcompass.store.atomic import named_errors, read_file
from agentcompass.store.layout import (
    STATES,
    AttemptLayout,
    RunLayout,
    State,
    TaskLayout,
    task_folder,
)
from agentcompass.store.reading import as_result, read_index, read_result_record, read_run_info

_EVALUATION = f'"{EVALUATION_SCHEMA}"'.encode()
_ANY_EVALUATION = b'"agentcompass.evaluation_checkpoint.'

log = logging.getLogger(__name__)


class Judge(Protocol):
    """What decides about attempts; `engine.reuse.Judge` is the real one."""

    def judge(self, found: EarlierAttempt) -> Judgement:
        """Whether to keep its result, to resume from its checkpoint, or to execute it."""
        ...

    def counted(self, result: AttemptResult) -> Mapping[str, bool | float]:
        """Those of its metrics that are measured now."""
        ...

    def completes(self, plan: AttemptPlan, kept: Mapping[int, AttemptResult]) -> bool:
        """Whether the kept attempts of a task leave nothing to do."""
        ...


@attrs.frozen(kw_only=True)
class Stored:
    """One attempt of an earlier run, and what is to be done with it.

    `record` is what `result` was read from; None where there is none.
    """

    layout: AttemptLayout
    run: "EarlierRun"
    verdict: Verdict
    result: AttemptResult | None
    record: dict[str, Any] | None


@attrs.frozen(kw_only=True)
class EarlierRun:
    """A run directory to read from, with the states in which there is a folder of each name.

    `said` is what needs no second word.
    """

    layout: RunLayout
    info: RunInfo
    folders: Mapping[str, tuple[State | None, ...]]
    said: set[str] = attrs.field(factory=set)

    def attempts(self, task_id: str, judge: Judge) -> Iterator[tuple[int, Stored]]:
        """The attempts of a task; what cannot be read is said and passed over."""
        try:
            for number, layout in self._layouts(task_id):
                name = f"task {task_id} attempt {number}"
                try:
                    yield number, self._stored(layout, judge, name)
                except StoreError as error:
                    self._warn(name, error)
        except StoreError as error:
            self._warn(f"task {task_id}", error)

    def _warn(self, name: str, error: StoreError) -> None:
        text = f"{name} is not reused: {error}"
        if text not in self.said:
            self.said.add(text)
            log.warning("%s", text)

    def _layouts(self, task_id: str) -> Iterator[tuple[int, AttemptLayout]]:
        name = task_folder(task_id)
        states = self.folders.get(name, ())
        if len(states) > 1:
            raise RecordCorrupt(f"{name} is there in several states")
        for state in states:
            task = TaskLayout(self.layout.folder(name, state))
            with named_errors(task.index):
                if not task.index.exists():
                    continue  # a crash came before anything was saved
            stored_id, numbers = read_index(task)
            if stored_id != task_id:
                raise RecordCorrupt(f"{task.index}: holds task {stored_id!r}")
            yield from ((number, task.attempt(number)) for number in numbers)

    def _stored(self, layout: AttemptLayout, judge: Judge, name: str) -> Stored:
        record = read_result_record(layout)
        result = None if record is None else as_result(record, layout)
        found = EarlierAttempt(
            result=result,
            has_checkpoint=_has_saved_work(layout),
            is_classified=self.info.schema_version == RUN_INFO_SCHEMA,
        )
        judgement = judge.judge(found)
        if judgement.reason:
            log.debug("%s of run %s: %s", name, self.info.run_id, judgement)
        return Stored(
            layout=layout, run=self, verdict=judgement.verdict, result=result, record=record
        )


def open_earlier_run(directory: Path) -> EarlierRun:
    """The run in `directory`; raises `StoreError` where it is none, or none that can be read."""
    layout = RunLayout(directory)
    folders: dict[str, tuple[State | None, ...]] = {}
    alone: Mapping[State | None, tuple[State | None, ...]] = {s: (s,) for s in (None, *STATES)}
    info = read_run_info(directory, plans=False)
    with named_errors(layout.details):
        for state, name in layout.task_names():
            folders[name] = (*folders[name], state) if name in folders else alone[state]
    return EarlierRun(layout=layout, info=info, folders=folders)


def _has_saved_work(layout: AttemptLayout) -> bool:
    """Whether there is work to score; it is validated before it is used."""
    try:
        data = read_file(layout.checkpoint)
    except OSError:
        return False
    if _EVALUATION in data:
        return True
    if _ANY_EVALUATION in data:
        log.debug("%s is not resumed: its schema is not %s", layout.checkpoint, EVALUATION_SCHEMA)
    return False
