"""The run directory while it is open: the engine's one way to the file system.

Files are written in worker threads, a few at a time; nothing here blocks the loop.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import attrs
import trio

from agentcompass.errors import StoreError
from agentcompass.progress.journal import Journal
from agentcompass.records.attempt import AttemptResult, TaskHeader
from agentcompass.records.checkpoint import EvaluationCheckpoint, RetryDetail
from agentcompass.records.metrics import MetricReport
from agentcompass.records.progress import ProgressEvent, ProgressSnapshot
from agentcompass.records.reuse import TakenOver
from agentcompass.store.atomic import (
    Disk,
    Replacements,
    named_errors,
    replace_file,
    write_record,
)
from agentcompass.store.commits import Commits
from agentcompass.store.earlier_run import Judge
from agentcompass.store.exchange_file import ExchangeFile
from agentcompass.store.layout import AttemptLayout, RunLayout
from agentcompass.store.location import require_run
from agentcompass.store.provenance import Provenance, Snapshot, now
from agentcompass.store.reading import read_checkpoint
from agentcompass.store.reports import metric_artifacts, write_report
from agentcompass.store.resources import ResourceFile
from agentcompass.store.reuse_source import ReuseSource
from agentcompass.store.takeover import TaskTakeover
from agentcompass.store.tasks import TaskFiles

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger(__name__)


@attrs.define(eq=False, kw_only=True)
class RunStore:
    """Writes one run. Every method that writes raises `StoreError`, naming the file and the cause;
    what was there before is then still there. Progress and the log never raise.
    """

    layout: RunLayout
    tasks: TaskFiles
    journal: Journal
    provenance: Provenance
    disk: Disk
    limiter: trio.CapacityLimiter
    _commits: Commits = attrs.field(init=False)
    _has_params: bool = attrs.field(default=False, init=False)
    _has_info: bool = attrs.field(default=False, init=False)
    _info_lock: trio.Lock = attrs.field(factory=trio.Lock, init=False)
    _plans_due: trio.Event = attrs.field(factory=trio.Event, init=False)

    @_commits.default
    def _new_commits(self) -> Commits:
        return Commits(
            directory=self.directory, disk=self.disk, limiter=self.limiter, check=self._require_run
        )

    @property
    def directory(self) -> Path:
        """The run directory, absolute."""
        return self.layout.directory

    @property
    def run_id(self) -> str:
        """The id under which the run was reserved."""
        return self.provenance.run_id

    @property
    def snapshot(self) -> ProgressSnapshot:
        """The state after the latest event."""
        return self.journal.tracker.snapshot()

    def emit(self, event: ProgressEvent) -> None:
        """Take an event: it counts at once and is written soon, in order. Never raises."""
        self.journal.emit(event)

    async def flush(self) -> None:
        """Return when every event emitted so far is on disk, or is known not to get there."""
        await self.journal.flush()

    def record_plan(self, task_id: str, attempt: int, plan: Mapping[str, Any]) -> None:
        """Note the plan of an attempt for run_info.json, which is written now and then."""
        self.provenance.add_plan(task_id, attempt, plan)
        if self.provenance.is_due:
            self._plans_due.set()

    async def update_run_info(self, **fields: Any) -> None:
        """Set top-level fields of run_info.json and write it."""
        self.provenance.set(**fields)
        await self._write_run_info()

    def attempt_dir(self, task_id: str, attempt: int) -> Path:
        """Where an attempt is written while its task runs."""
        return self._attempt(task_id, attempt).directory

    def artifacts_dir(self, task_id: str, attempt: int) -> Path:
        """Where the artifacts of an attempt go while its task runs."""
        return self._attempt(task_id, attempt).artifacts

    def resource(self, provider: str, task_id: str, attempt: int) -> ResourceFile:
        """The entry of a sandbox that is about to be opened; nothing is written yet."""
        return ResourceFile(
            run_directory=self.directory,
            provider=provider,
            task_id=task_id,
            attempt=attempt,
            disk=self.disk,
            limiter=self.limiter,
        )

    def exchanges(self, task_id: str, attempt: int) -> ExchangeFile:
        """Where the model's calls of one execution are recorded; nothing is written yet."""
        return ExchangeFile(
            path=self._attempt(task_id, attempt).exchanges,
            redactor=self.provenance.redactor,
            disk=self.disk,
            limiter=self.limiter,
        )

    async def save_evaluation_checkpoint(
        self, header: TaskHeader, checkpoint: EvaluationCheckpoint
    ) -> None:
        """Keep an agent's finished work, so that it can be scored again."""
        await self._on_task(header.task_id, self.tasks.save_evaluation, header, checkpoint)

    async def save_attempt(self, header: TaskHeader, attempt: int, result: AttemptResult) -> None:
        """Keep the result of one attempt of several."""
        await self._on_task(header.task_id, self.tasks.save_attempt, header, attempt, result)

    async def save_interrupted(
        self, header: TaskHeader, attempt: int, *, phase: str, retries: int
    ) -> None:
        """Note in which phase an attempt was cut off."""
        save = partial(self.tasks.save_interrupted, phase=phase, retries=retries)
        await self._on_task(header.task_id, save, header, attempt)

    async def publish_task(self, header: TaskHeader, severity: str) -> None:
        """Publish a task whose attempts are saved, in the state of its heaviest severity."""
        await self._on_task(header.task_id, self.tasks.publish, header, severity)

    async def save_task(
        self, header: TaskHeader, results: Mapping[int, AttemptResult], severity: str
    ) -> None:
        """Keep and publish a task in one go."""
        await self._on_task(header.task_id, self.tasks.save_task, header, results, severity)

    async def save_retry(self, detail: RetryDetail) -> str:
        """Keep a discarded result; its path relative to the run directory."""
        return await self._on_task(detail.task_id, self.tasks.save_retry, detail)

    async def set_aside(self, task_id: str, attempt: int) -> None:
        """Move away what an execution left, before the attempt is executed again."""
        await self._on_task(task_id, self.tasks.set_aside, task_id, attempt)

    async def take_over(
        self,
        source: ReuseSource,
        headers: Sequence[TaskHeader],
        judge: Judge,
        taken: dict[str, TakenOver],
    ) -> None:
        """Copy what earlier runs have of tasks that have not begun here.

        `taken` gets what there is of each task, by its id, also where a later one fails.
        """
        await self._in_thread(self._take_over, source, headers, judge, taken)

    async def load_evaluation(self, task_id: str, attempt: int) -> EvaluationCheckpoint | None:
        """The saved work of an attempt that is not done, None where there is none."""
        checkpoint = await self._in_thread(read_checkpoint, self._attempt(task_id, attempt))
        return None if checkpoint is None else checkpoint.evaluation

    async def write_metrics(self, report: MetricReport, summary_md: str) -> None:
        """Write metrics.json and summary.md; `finish` tells run_info.json where they come from."""
        redactor = self.provenance.redactor
        write = partial(write_report, redactor=redactor)
        await self._in_thread(write, self.disk, self.layout, report, summary_md)
        self.provenance.set(metric_artifacts=metric_artifacts(report, source="evaluation"))

    async def finish(self, status: str, error: str | None, **fields: Any) -> None:
        """Write the final state of the run and `fields` into run_info.json, and params.json."""
        error = None if error is None else self.provenance.redactor.text(error)
        self.provenance.set(status=status, finished_at=now(), error=error, **fields)
        await self._write_run_info()
        await self._in_thread(self._write_params)

    async def fold_plans(self) -> None:
        """Write run_info.json whenever there are many new plans in it; a fault can wait."""
        while True:
            await self._plans_due.wait()
            self._plans_due = trio.Event()
            if not self.provenance.is_due:  # noted again while they were being written
                continue
            try:
                await self._write_run_info()
            except StoreError as error:
                log.warning("the plans so far are not in run_info.json: %s", error)

    def _take_over(
        self,
        source: ReuseSource,
        headers: Sequence[TaskHeader],
        judge: Judge,
        taken: dict[str, TakenOver],
    ) -> None:
        redactor = self.provenance.redactor
        files = TaskTakeover(layout=self.layout, redactor=redactor, disk=self.disk, judge=judge)
        found = (source.attempts(h.task_id, h.attempt_plan.numbers, judge) for h in headers)
        files.take_over(zip(headers, found, strict=True), taken)

    def _attempt(self, task_id: str, attempt: int) -> AttemptLayout:
        return self.layout.task(task_id, "running").attempt(attempt)

    async def _on_task(
        self,
        task_id: str,
        work: Callable[Concatenate[Replacements, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        done = await self._commits.make(task_id, lambda files: work(files, *args, **kwargs))
        if not self._has_params:
            self._has_params = True
            try:
                await self._in_thread(self._write_params)
            except StoreError as error:  # `finish` writes it again, and insists
                log.warning("%s", error)
        return done

    async def _write_run_info(self) -> None:
        async with self._info_lock:  # an older state must not overtake a newer one
            await self._in_thread(self._replace_run_info, self.provenance.snapshot())

    def _replace_run_info(self, snapshot: Snapshot) -> None:
        replace_file(self.disk, self.layout.run_info, snapshot.pieces())
        self._has_info = True

    def _write_params(self) -> None:
        write_record(self.disk, self.layout.params, self.provenance.params(), sort_keys=True)

    async def _in_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Once begun, file work is not cancelled: when it returns, it has happened."""

        def guarded() -> T:
            self._require_run()
            with named_errors(self.directory):
                return work(*args, **kwargs)

        return await trio.to_thread.run_sync(guarded, limiter=self.limiter)

    def _require_run(self) -> None:
        if self._has_info:
            with named_errors(self.directory):
                require_run(self.layout)
