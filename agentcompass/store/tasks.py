"""The files of tasks: saved attempt by attempt in `running`, published as a whole by one rename.

Every method blocks, and raises `StoreError` naming the file. Where result.json is, the attempt is
done.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import attrs

from agentcompass.records.atif import AtifAgent
from agentcompass.records.attempt import AttemptResult, TaskHeader
from agentcompass.records.checkpoint import EvaluationCheckpoint, LogicalAttempt, RetryDetail
from agentcompass.store.atomic import (
    Disk,
    Replacements,
    move_folder,
    named_errors,
    read_record,
)
from agentcompass.store.documents import (
    checkpoint_document,
    evaluation_document,
    index_document,
    published_document,
    result_document,
    retry_document,
    scheduler_document,
)
from agentcompass.store.encode import dump
from agentcompass.store.layout import AttemptLayout, RunLayout, TaskLayout, retry_file, state_of
from agentcompass.store.redact import Redactor
from agentcompass.store.repoint import repointed, without_scheduler
from agentcompass.store.trajectories import save_atif


@attrs.frozen(kw_only=True)
class TaskFiles:
    """Changes the files of the tasks of one run: what is to be replaced is added to `files`.

    Two changes of one task must not be made at the same time. `agent` is whose trajectories these
    are; without it there are no ATIF files.
    """

    layout: RunLayout
    redactor: Redactor
    agent: AtifAgent | None = None
    # Tasks of which the final task.json and the agent's work are on disk, and nothing else.
    _kept: set[str] = attrs.field(factory=set, init=False)

    def save_evaluation(
        self, files: Replacements, header: TaskHeader, checkpoint: EvaluationCheckpoint
    ) -> None:
        """Keep the agent's finished work for scoring it again."""
        task, number = self.layout.task(header.task_id, "running"), checkpoint.attempt
        attempt, is_new = _open_attempt(files.disk, task, number)
        if header.attempt_plan.k == 1:
            self._save_published_index(files, task, header, [number])
            if is_new:
                files.then(partial(self._kept.add, header.task_id))
        else:
            _save_index(files, task, header.task_id)
        reference = self._relative(attempt.artifacts)
        with named_errors(attempt.checkpoint):
            section = evaluation_document(checkpoint, reference, self.redactor)
            data = dump(checkpoint_document(evaluation=section))
        files.add(attempt.checkpoint, data)

    def save_attempt(
        self, files: Replacements, header: TaskHeader, number: int, result: AttemptResult
    ) -> None:
        """Keep the result of one of several attempts."""
        task = self.layout.task(header.task_id, "running")
        attempt, _ = _open_attempt(files.disk, task, number)
        _save_index(files, task, header.task_id)
        self._save_result(files, result, attempt, attempt)
        _save_scheduler(files, attempt, _logical_attempt(header, number, result))

    def save_interrupted(
        self, files: Replacements, header: TaskHeader, number: int, *, phase: str, retries: int
    ) -> None:
        """Note in which phase an attempt without a result was cut off."""
        self._kept.discard(header.task_id)
        task = self.layout.task(header.task_id, "running")
        attempt, _ = _open_attempt(files.disk, task, number)
        cut_off = LogicalAttempt(
            task_id=header.task_id,
            attempt_index=number,
            status="failed",
            retries=retries,
            error=f"interrupted in phase {phase}",
        )
        _save_index(files, task, header.task_id)
        _save_scheduler(files, attempt, cut_off)

    def save_task(
        self,
        files: Replacements,
        header: TaskHeader,
        results: Mapping[int, AttemptResult],
        severity: str,
    ) -> None:
        """Keep and publish a task whose attempts have not been saved yet."""
        task = self.layout.task(header.task_id, "running")
        final = self.layout.task(header.task_id, state_of(severity))
        if not (is_kept := header.task_id in self._kept):
            for number in results:
                _open_attempt(files.disk, task, number)
            self._save_published_index(files, task, header, sorted(results))
        for number, result in results.items():
            attempt, there = task.attempt(number), final.attempt(number)
            self._save_result(files, result, attempt, there)
            if is_kept:
                files.change(attempt.checkpoint, self._moved(attempt, there))
            else:
                self._close(files, attempt, there)
        self._move(files, header.task_id, task, final)

    def publish(self, files: Replacements, header: TaskHeader, severity: str) -> None:
        """Complete task.json and move the task from `running` to the state of its severity."""
        task = self.layout.task(header.task_id, "running")
        final = self.layout.task(header.task_id, state_of(severity))
        numbers = task.attempt_numbers()
        done = [number for number in numbers if task.attempt(number).result.exists()]
        self._save_published_index(files, task, header, done)
        for number in numbers:
            self._close(files, task.attempt(number), final.attempt(number))
        for number in done:
            there = self._moved(task.attempt(number), final.attempt(number))
            files.change(task.attempt(number).result, there)
        self._move(files, header.task_id, task, final)

    def save_retry(self, files: Replacements, detail: RetryDetail) -> str:
        """Keep a discarded result; the path of its file, relative to the run directory."""
        self._kept.discard(detail.task_id)
        task = self.layout.task(detail.task_id, "running")
        attempt, _ = _open_attempt(files.disk, task, detail.attempt)
        name = retry_file(detail.task_id, detail.attempt, detail.retry, detail.stage)
        path = attempt.retries / name
        with named_errors(path):
            files.disk.make_folders(attempt.retries)
            data = dump(retry_document(detail, self.redactor))
        files.add(path, data)
        return self._relative(path)

    def set_aside(self, files: Replacements, task_id: str, number: int) -> None:
        """Move what an execution left out of the way of the next one, as evidence."""
        self._kept.discard(task_id)
        attempt = self.layout.task(task_id, "running").attempt(number)
        left = [
            path
            for path in (attempt.artifacts, attempt.result, attempt.checkpoint)
            if path.exists()
        ]
        if not left:
            return
        aside = AttemptLayout(attempt.retries / uuid.uuid4().hex)
        with named_errors(aside.directory):
            files.disk.make_folders(aside.directory)
            for path in left:
                files.disk.rename(path, aside.directory / path.name)
        for path in aside.records():
            files.change(path, self._moved(attempt, aside))

    def _save_published_index(
        self, files: Replacements, task: TaskLayout, header: TaskHeader, numbers: Sequence[int]
    ) -> None:
        with named_errors(task.index):
            data = dump(published_document(header, numbers, self.redactor))
        files.add(task.index, data)

    def _save_result(
        self,
        files: Replacements,
        result: AttemptResult,
        attempt: AttemptLayout,
        final: AttemptLayout,
    ) -> None:
        """Write a result that says of its artifacts that they are in `final`."""
        with named_errors(attempt.result):
            record = result_document(result, self.redactor)
            data = self._moved(attempt, final)(dump(record))
        if self.agent is not None:
            save_atif(files, attempt, record, self.agent)
        files.add(attempt.result, data)

    def _move(
        self, files: Replacements, task_id: str, source: TaskLayout, target: TaskLayout
    ) -> None:
        """Once all files are there, publish the task by one rename."""

        def move() -> None:
            move_folder(files.disk, source.directory, target.directory)
            self._kept.discard(task_id)

        files.then(move)

    def _close(self, files: Replacements, attempt: AttemptLayout, final: AttemptLayout) -> None:
        """Leave in the checkpoint only what a later run can use; it and what was set aside name
        the folder to which their artifacts move.
        """
        there = self._moved(attempt, final)
        if attempt.checkpoint.exists():
            files.change(attempt.checkpoint, lambda data: there(without_scheduler(data)))
        else:
            files.add_record(attempt.checkpoint, checkpoint_document())
        for path in attempt.earlier_records():
            files.change(path, there)

    def _moved(self, old: AttemptLayout, new: AttemptLayout) -> Callable[[bytes], bytes]:
        """What lets a record name the folder to which its artifacts move."""
        before, after = (self._relative(attempt.directory) for attempt in (old, new))
        return partial(repointed, before=before, after=after)

    def _relative(self, path: Path) -> str:
        return self.layout.reference(path)


def _open_attempt(disk: Disk, task: TaskLayout, number: int) -> tuple[AttemptLayout, bool]:
    """An attempt with its folder, and whether that was not there before."""
    attempt = task.attempt(number)
    with named_errors(attempt.directory):
        disk.make_folders(task.directory)
        return attempt, disk.make_folders(attempt.directory)


def _save_index(files: Replacements, task: TaskLayout, task_id: str) -> None:
    files.add_record(task.index, index_document(task_id, task.attempt_numbers()))


def _save_scheduler(files: Replacements, attempt: AttemptLayout, logical: LogicalAttempt) -> None:
    record = read_record(attempt.checkpoint) or checkpoint_document()
    record.pop("artifact_transfer", None)
    record["scheduler"] = scheduler_document(logical)
    files.add_record(attempt.checkpoint, record)


def _logical_attempt(header: TaskHeader, number: int, result: AttemptResult) -> LogicalAttempt:
    return LogicalAttempt(
        task_id=header.task_id,
        attempt_index=number,
        status="failed" if result.severity == "fatal" else "completed",
        stop_requested=result.succeeded and header.attempt_plan.strategy == "pass",
        retries=result.retry_count,
        result_path="result.json",
    )
