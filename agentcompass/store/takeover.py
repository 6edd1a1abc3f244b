"""Copies what earlier runs hold of tasks into this run, which then stands alone. Blocking.

Artifacts, and records in which nothing changes, are linked where the file system can: no run
changes them again, and what is linked was made durable by the run that wrote it. What is written
is brought to the disk for several tasks together. Paths are text here, as in `store.earlier_run`.
"""

import logging
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import attrs

from agentcompass.errors import StoreError
from agentcompass.records.attempt import TaskHeader, attempt_name
from agentcompass.records.reuse import TakenOver
from agentcompass.store.artifact_links import SourceFault, link_artifacts
from agentcompass.store.atomic import (
    Disk,
    Replacements,
    move_folder,
    named_errors,
    read_if_there,
    replacing,
)
from agentcompass.store.documents import (
    checkpoint_document,
    index_document,
    published_document,
)
from agentcompass.store.earlier_run import Judge, Stored
from agentcompass.store.encode import decode, dump, encode
from agentcompass.store.exchange_file import masked_lines
from agentcompass.store.layout import (
    ARTIFACTS,
    CHECKPOINT,
    EXCHANGES,
    INDEX,
    RESULT,
    RunLayout,
    State,
)
from agentcompass.store.redact import Redactor
from agentcompass.store.repoint import repointed, without_scheduler
from agentcompass.store.reuse_plan import Earlier, ReusedTask, reused_task

log = logging.getLogger(__name__)


@attrs.frozen(kw_only=True)
class TaskTakeover:
    """Writes into one run what it takes over from others."""

    layout: RunLayout
    redactor: Redactor
    disk: Disk
    judge: Judge

    def take_over(
        self,
        tasks: Iterable[tuple[TaskHeader, Mapping[int, Stored]]],
        taken: dict[str, TakenOver],
    ) -> None:
        """Copy what was found of tasks; `taken` gets each that is there, also where one fails.

        A task is published where its attempts leave nothing to do; otherwise it is as if they had
        been run here. An attempt that cannot be read is said and left out. Raises `StoreError`
        where nothing can be written.
        """
        with replacing(self.disk) as files:
            found = [self._copy(files, *task) for task in tasks]
            files.start_sync()
        copied = [task for task in found if task is not None]
        # Without its index a task is none: it comes to be once its records are on the disk.
        with replacing(self.disk) as files:
            for task in copied:
                self._add_index(files, task)
        for task in copied:
            if task.is_done:
                work, final = self._folder(task, "running"), self._folder(task, task.state)
                move_folder(self.disk, work, final)
            taken[task.header.task_id] = task.taken

    def _copy(
        self, files: Replacements, header: TaskHeader, found: Mapping[int, Stored]
    ) -> ReusedTask | None:
        """Copy all of a task but for its index; None where nothing can be copied."""
        opened: set[int] = set()
        while found:
            task = reused_task(header, found, self.judge)
            faulty = self._open_attempts(task, found, opened)
            if faulty is None:
                for number in task.numbers:
                    self._add_records(files, task, number, found[number])
                return task
            found = _without(found, faulty)
        return None

    def _open_attempts(
        self, task: ReusedTask, found: Mapping[int, Stored], opened: set[int]
    ) -> int | None:
        """Make what is missing of its folders; the first attempt of which that is not possible."""
        work = self._folder(task, "running")
        self._make_folder(work)
        for number in task.numbers:
            target = f"{work}/{attempt_name(number)}"
            try:
                if number not in opened:
                    self._open_attempt(found[number].folder, target)
                    opened.add(number)
            except SourceFault as error:
                name = f"task {task.header.task_id} attempt {number}"
                log.warning("%s is not reused: %s", name, error)
                shutil.rmtree(target, ignore_errors=True)
                return number
        return None

    def _folder(self, task: ReusedTask, state: State) -> str:
        return f"{self.layout.directory}/{task.place(state)}"

    def _make_folder(self, path: str) -> None:
        with named_errors(path):
            self.disk.make_folders(path)

    def _open_attempt(self, source: str, target: str) -> None:
        """Make the folder of an attempt, with its artifacts."""
        self._make_folder(target)
        link_artifacts(f"{source}/{ARTIFACTS}", f"{target}/{ARTIFACTS}")

    def _add_records(
        self, files: Replacements, task: ReusedTask, number: int, stored: Stored
    ) -> None:
        name = attempt_name(number)
        target = f"{self._folder(task, 'running')}/{name}"
        moves = (stored.place, f"{task.place(task.state)}/{name}")
        self._add_exchanges(files, stored, target)
        checkpoint = self._checkpoint(stored, moves)
        self._add(files, checkpoint, _earlier(stored, CHECKPOINT), f"{target}/{CHECKPOINT}")
        if number in task.kept and stored.record is not None:
            data = dump(_with_history(stored.record, stored, task.kept[number].metrics))
            result = self._masked(repointed(data, *moves))
            self._add(files, result, _earlier(stored, RESULT), f"{target}/{RESULT}")

    def _add(self, files: Replacements, data: bytes, was: Earlier, target: str) -> None:
        """Make `data` the content of `target`, by a link to what `was` the same."""
        if data == was.data:
            with suppress(OSError):  # another file system, or one without links
                self.disk.link(was.path, target)
                return
        files.add(target, data)

    def _add_exchanges(self, files: Replacements, stored: Stored, target: str) -> None:
        """Copy the recorded calls; not linked, since a retry may append to them."""
        try:
            data = read_if_there(f"{stored.folder}/{EXCHANGES}")
            lines = None if data is None else masked_lines(data, self.redactor)
        except StoreError as error:  # the attempt stands without them
            log.warning("recorded calls are not taken over: %s", error)
            return
        if lines is not None:
            files.add(f"{target}/{EXCHANGES}", lines)

    def _add_index(self, files: Replacements, task: ReusedTask) -> None:
        path = f"{self._folder(task, 'running')}/{INDEX}"
        with named_errors(path):
            index = (
                published_document(task.header, task.numbers, self.redactor)
                if task.is_done
                else index_document(task.header.task_id, task.numbers)
            )
            data = dump(index)
        self._add(files, data, task.index, path)

    def _checkpoint(self, stored: Stored, moves: tuple[str, str]) -> bytes:
        """What of its checkpoint a later run can use; an empty one where it cannot be read."""
        was = stored.files.get(CHECKPOINT)
        try:
            if was is not None:
                return self._masked(repointed(without_scheduler(was), *moves))
        except StoreError as error:
            log.warning("not taken over: %s: %s", stored.folder, error)
        return encode(checkpoint_document())

    def _masked(self, data: bytes) -> bytes:
        """A record without what has become known to be secret since it was written."""
        if not self.redactor.known_in(data):
            return data
        return encode(self.redactor.known(decode(data, source="an earlier record")))


def _earlier(stored: Stored, name: str) -> Earlier:
    return Earlier(f"{stored.folder}/{name}", stored.files.get(name))


def _without(found: Mapping[int, Stored], number: int) -> dict[int, Stored]:
    return {other: stored for other, stored in found.items() if other != number}


def _with_history(
    record: dict[str, Any], stored: Stored, metrics: Mapping[str, bool | float]
) -> dict[str, Any]:
    """A result that says which run executed it, and with how many retries there.

    It has `metrics` only; the others are in its history.
    """
    history = {"source_run": stored.run.info.run_id, "retry_count": record["retry_count"]}
    if others := {name: v for name, v in record["metrics"].items() if name not in metrics}:
        history["undeclared_metrics"] = others
    artifacts = {**record["artifacts"]}
    artifacts.setdefault("reuse_history", history)
    return {**record, "artifacts": artifacts, "metrics": dict(metrics), "retry_count": 0}
