"""The files of tasks: saved attempt by attempt in `running`, published as a whole by one rename.

Every method blocks, and raises `StoreError` naming the file. Where result.json is, the attempt is
done.
"""

import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import attrs

from agentcompass.records.atif import AtifAgent
from agentcompass.records.attempt import AttemptResult, TaskHeader
from agentcompass.records.checkpoint import EvaluationCheckpoint, LogicalAttempt, RetryDetail
from agentcompass.store.atomic import (
    Disk,
    Replacements,
    named_errors,
    read_record,
    replace_file,
    replacing,
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
    """Writes the tasks of one run. Two methods on one task must not run at the same time.

    `agent` is whose trajectories these are; without it there are no ATIF files.
    """

    layout: RunLayout
    redactor: Redactor
    disk: Disk
    agent: AtifAgent | None = None
    _encoder: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def save_evaluation(self, checkpoint: EvaluationCheckpoint) -> None:
        """Keep the agent's finished work for scoring it again."""
        attempt = self._open_attempt(checkpoint.task_id, checkpoint.attempt)
        reference = self._relative(attempt.artifacts)
        with replacing(self.disk) as files:
            self._save_index(files, checkpoint.task_id)
            with self._encoding(attempt.checkpoint):
                section = evaluation_document(checkpoint, reference, self.redactor)
                data = dump(checkpoint_document(evaluation=section))
            files.add(attempt.checkpoint, data)

    def save_attempt(self, header: TaskHeader, number: int, result: AttemptResult) -> None:
        """Keep the result of one of several attempts."""
        attempt = self._open_attempt(header.task_id, number)
        with replacing(self.disk) as files:
            self._save_index(files, header.task_id)
            self._save_result(files, result, attempt, attempt)
            _save_scheduler(files, attempt, _logical_attempt(header, number, result))

    def save_interrupted(
        self, header: TaskHeader, number: int, *, phase: str, retries: int
    ) -> None:
        """Note in which phase an attempt without a result was cut off."""
        attempt = self._open_attempt(header.task_id, number)
        cut_off = LogicalAttempt(
            task_id=header.task_id,
            attempt_index=number,
            status="failed",
            retries=retries,
            error=f"interrupted in phase {phase}",
        )
        with replacing(self.disk) as files:
            self._save_index(files, header.task_id)
            _save_scheduler(files, attempt, cut_off)

    def save_task(
        self, header: TaskHeader, results: Mapping[int, AttemptResult], severity: str
    ) -> None:
        """Keep and publish a task whose attempts have not been saved yet."""
        task = self.layout.task(header.task_id, "running")
        final = self.layout.task(header.task_id, state_of(severity))
        attempts = {number: self._open_attempt(header.task_id, number) for number in results}
        with replacing(self.disk) as files:
            self._save_published_index(files, task, header, sorted(results))
            for number, result in results.items():
                there = final.attempt(number)
                self._save_result(files, result, attempts[number], there)
                self._close(files, attempts[number], there)
        self._move(task, final)

    def publish(self, header: TaskHeader, severity: str) -> None:
        """Complete task.json and move the task from `running` to the state of its severity."""
        task = self.layout.task(header.task_id, "running")
        final = self.layout.task(header.task_id, state_of(severity))
        numbers = task.attempt_numbers()
        done = [number for number in numbers if task.attempt(number).result.exists()]
        with replacing(self.disk) as files:
            self._save_published_index(files, task, header, done)
            for number in numbers:
                self._close(files, task.attempt(number), final.attempt(number))
            for number in done:
                there = self._moved(task.attempt(number), final.attempt(number))
                files.change(task.attempt(number).result, there)
        self._move(task, final)

    def save_retry(self, detail: RetryDetail) -> str:
        """Keep a discarded result; the path of its file, relative to the run directory."""
        attempt = self._open_attempt(detail.task_id, detail.attempt)
        name = retry_file(detail.task_id, detail.attempt, detail.retry, detail.stage)
        path = attempt.retries / name
        with named_errors(path):
            self.disk.make_folders(attempt.retries)
        with self._encoding(path):
            data = dump(retry_document(detail, self.redactor))
        replace_file(self.disk, path, data)
        return self._relative(path)

    def set_aside(self, task_id: str, number: int) -> None:
        """Move what an execution left out of the way of the next one, as evidence."""
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
            self.disk.make_folders(aside.directory)
            for path in left:
                self.disk.rename(path, aside.directory / path.name)
        with replacing(self.disk) as files:
            for path in aside.records():
                files.change(path, self._moved(attempt, aside))

    def _open_attempt(self, task_id: str, number: int) -> AttemptLayout:
        attempt = self.layout.task(task_id, "running").attempt(number)
        with named_errors(attempt.directory):
            self.disk.make_folders(attempt.directory)
        return attempt

    def _save_index(self, files: Replacements, task_id: str) -> None:
        task = self.layout.task(task_id, "running")
        files.add_record(task.index, index_document(task_id, task.attempt_numbers()))

    def _save_published_index(
        self, files: Replacements, task: TaskLayout, header: TaskHeader, numbers: Sequence[int]
    ) -> None:
        with named_errors(task.index):
            document = published_document(header, numbers, self.redactor)
        files.add_record(task.index, document)

    def _save_result(
        self,
        files: Replacements,
        result: AttemptResult,
        attempt: AttemptLayout,
        final: AttemptLayout,
    ) -> None:
        """Write a result that says of its artifacts that they are in `final`."""
        with self._encoding(attempt.result):
            record = result_document(result, self.redactor)
            data = self._moved(attempt, final)(dump(record))
        if self.agent is not None:
            with self._encoding(attempt.atif):
                save_atif(files, attempt, record, self.agent)
        files.add(attempt.result, data)

    def _move(self, source: TaskLayout, target: TaskLayout) -> None:
        with named_errors(target.directory):
            try:
                self.disk.rename(source.directory, target.directory)
            except FileNotFoundError:  # the first task in this state
                self.disk.make_folders(target.directory.parent)
                self.disk.rename(source.directory, target.directory)

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

    @contextmanager
    def _encoding(self, path: Path) -> Iterator[None]:
        """One long record at a time: more threads would not be faster, and starve the loop."""
        with self._encoder, named_errors(path):
            yield

    def _relative(self, path: Path) -> str:
        return self.layout.reference(path)


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
