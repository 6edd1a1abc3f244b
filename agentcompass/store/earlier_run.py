"""What one earlier run holds of each attempt; everything blocks, nothing is written.

There may be many attempts: paths are text here, and each record is read once.
"""

import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import attrs

from agentcompass.errors import RecordCorrupt, StoreError
from agentcompass.records.attempt import AttemptResult, attempt_name
from agentcompass.records.checkpoint import EVALUATION_SCHEMA
from agentcompass.records.request import AttemptPlan
from agentcompass.records.reuse import EarlierAttempt, Judgement, Verdict
from agentcompass.records.run_info import RUN_INFO_SCHEMA, RunInfo
from agentcompass.store.atomic import named_errors, read_if_there
from agentcompass.store.layout import (
    CHECKPOINT,
    INDEX,
    RESULT,
    STATES,
    RunLayout,
    State,
    task_folder,
)
from agentcompass.store.outline import index_of, outline_of
from agentcompass.store.reading import read_run_info

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
    """One attempt of an earlier run, in `folder`, and what is to be done with it.

    `record` is its result as it was read, and `result` what of that counts; both are None where
    there is none. `files` are its records as they are written, and the index of its task, by name.
    """

    folder: str
    run: "EarlierRun"
    verdict: Verdict
    result: AttemptResult | None
    record: dict[str, Any] | None
    files: Mapping[str, bytes]

    @property
    def place(self) -> str:
        """Its folder, relative to its run."""
        return self.folder[len(str(self.run.layout.directory)) + 1 :]


@attrs.frozen(kw_only=True)
class EarlierRun:
    """A run directory to read from, with the states in which there is a folder of each name.

    `said` is what needs no second word.
    """

    layout: RunLayout
    info: RunInfo
    folders: Mapping[str, tuple[State | None, ...]]
    said: set[str] = attrs.field(factory=set)
    _states: Mapping[State | None, str] = attrs.field(init=False)

    @_states.default
    def _state_folders(self) -> Mapping[State | None, str]:
        details = str(self.layout.details)
        return {None: details, **{state: f"{details}/{state}" for state in STATES}}

    def attempts(self, task_id: str, judge: Judge) -> Iterator[tuple[int, Stored]]:
        """The attempts of a task; what cannot be read is said and passed over."""
        try:
            folder, index, numbers = self._task(task_id)
        except StoreError as error:
            self._warn(f"task {task_id}", error)
            return
        for number in numbers:
            name = f"task {task_id} attempt {number}"
            attempt = f"{folder}/{attempt_name(number)}"
            try:
                yield number, self._stored(attempt, index, judge, name)
            except StoreError as error:
                self._warn(name, error)

    def _warn(self, name: str, error: StoreError) -> None:
        text = f"{name} is not reused: {error}"
        if text not in self.said:
            self.said.add(text)
            log.warning("%s", text)

    def _task(self, task_id: str) -> tuple[str, bytes, list[int]]:
        """The folder of a task, its index, and the numbers in that; none where it has none."""
        name = task_folder(task_id)
        states = self.folders.get(name, ())
        if len(states) > 1:
            raise RecordCorrupt(f"{name} is there in several states")
        for state in states:
            folder = f"{self._states[state]}/{name}"
            index = read_if_there(f"{folder}/{INDEX}")
            if index is None:
                break  # a crash came before anything was saved
            stored_id, numbers = index_of(index, source=f"{folder}/{INDEX}")
            if stored_id != task_id:
                raise RecordCorrupt(f"{folder}/{INDEX}: holds task {stored_id!r}")
            return folder, index, numbers
        return "", b"", []

    def _stored(self, folder: str, index: bytes, judge: Judge, name: str) -> Stored:
        files = {INDEX: index, **self._records(folder, name)}
        found = None
        if RESULT in files:
            found = outline_of(files[RESULT], source=f"{folder}/{RESULT}")
        record, result = (None, None) if found is None else found
        earlier = EarlierAttempt(
            result=result,
            has_checkpoint=_has_saved_work(files.get(CHECKPOINT, b""), folder),
            is_classified=self.info.schema_version == RUN_INFO_SCHEMA,
        )
        judgement = judge.judge(earlier)
        if judgement.reason:
            log.debug("%s of run %s: %s", name, self.info.run_id, judgement)
        verdict = judgement.verdict
        return Stored(
            folder=folder, run=self, verdict=verdict, result=result, record=record, files=files
        )

    def _records(self, folder: str, name: str) -> dict[str, bytes]:
        """The records of an attempt that are there; it may stand without a checkpoint."""
        if os.path.islink(folder):  # noqa: PTH114  # text already
            raise RecordCorrupt(f"{folder} is a link")
        files = {RESULT: read_if_there(f"{folder}/{RESULT}")}
        try:
            files[CHECKPOINT] = read_if_there(f"{folder}/{CHECKPOINT}")
        except StoreError as error:
            self._warn(f"the checkpoint of {name}", error)
        return {name: data for name, data in files.items() if data is not None}


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


def _has_saved_work(data: bytes, folder: str) -> bool:
    """Whether there is work to score; it is validated before it is used."""
    if _EVALUATION in data:
        return True
    if _ANY_EVALUATION in data:
        log.debug("%s is not resumed: its schema is not %s", folder, EVALUATION_SCHEMA)
    return False
