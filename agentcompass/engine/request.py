"""One request: its tasks in one nursery, under one deadline, to a final state that is written."""

import logging
import math
import sys
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

import attrs
import trio

from agentcompass._version import __version__
from agentcompass.deadlines import CleanupClock, cleanup
from agentcompass.engine.events import emit_run
from agentcompass.engine.job import Job, Run
from agentcompass.engine.limits import limit_text
from agentcompass.engine.loading import find_source, load_tasks
from agentcompass.engine.observed import observations
from agentcompass.engine.reporting import make_report
from agentcompass.engine.selection import selection_record
from agentcompass.engine.starting import start_in_turn
from agentcompass.engine.takeover import reuse_record, take_over
from agentcompass.errors import StoreError
from agentcompass.metrics.observations import TaskObservations
from agentcompass.metrics.summary import CUT_SHORT, overview, render_summary
from agentcompass.records.metrics import MetricReport
from agentcompass.records.reuse import TakenOver
from agentcompass.records.task import TaskSpec

# Writing metrics and summary is not cleanup of what runs, so it has a bound of its own.
FINAL_WRITE_SECONDS = 60.0

log = logging.getLogger(__name__)


class RunTask(Protocol):
    """The level below: run one task to its published record."""

    def __call__(
        self, run: Run, task: TaskSpec, *, index: int, total: int
    ) -> Awaitable[TaskObservations]: ...


@attrs.frozen(kw_only=True)
class Outcome:
    """How a request ended: `status` is completed, failed, timed_out or cancelled.

    `applied_recipes` are those that any plan took, in the order in which they are tried. `reuse` is
    empty unless an earlier run was reused: then its origin, and the counts of attempts.
    """

    status: str
    error: str | None
    report: MetricReport
    directory: Path
    run_id: str
    total_tasks: int
    applied_recipes: tuple[str, ...] = ()
    reuse: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.define(eq=False)
class _Ledger:
    """What is known of the selected tasks; those without an observation did not finish."""

    tasks: Sequence[TaskSpec]
    observed: dict[str, TaskObservations] = attrs.field(factory=dict)
    status: str = "cancelled"
    error: str | None = "request cancelled"

    def observations(self) -> list[TaskObservations]:
        return [
            self.observed.get(task.task_id)
            or TaskObservations(task_id=task.task_id, category=task.category)
            for task in self.tasks
        ]

    @property
    def pending(self) -> list[int]:
        """The places of the tasks that are still to be run."""
        return [i for i, task in enumerate(self.tasks) if task.task_id not in self.observed]

    def add_finished(self, taken_over: dict[str, TakenOver]) -> None:
        """Count what earlier runs finished as if it had been run, and keep no more of it."""
        for task in self.tasks:
            taken = taken_over.get(task.task_id)
            if taken is not None and taken.published:
                self.observed[task.task_id] = observations(task, taken.kept)
                del taken_over[task.task_id]


async def run_request(job: Job, run_task: RunTask) -> Outcome:
    """Load, run and write one request.

    Raises `UsageError`, before a run directory exists, for task ids, data or metrics that cannot
    be. A cancellation from outside is passed on once the final state is written.
    """
    limit = job.timeout_seconds
    ends_at = math.inf if limit is None else trio.current_time() + limit
    ledger = _Ledger(await load_tasks(job, ends_at))
    source = await find_source(job, ledger.tasks, ends_at)
    clock = CleanupClock(job.request.execution.cleanup_grace_seconds)
    async with job.open_store(clock) as store:
        run = Run(job=job, store=store, cleanup=clock, source=source)
        try:
            with trio.CancelScope(deadline=ends_at) as scope:
                await _run_tasks(run, ledger, run_task)
            _conclude(run, ledger, timed_out=scope.cancelled_caught)
        finally:
            _note_crash(ledger, sys.exception())
            with cleanup(CleanupClock(FINAL_WRITE_SECONDS)):
                report = await _finish(run, ledger)
    return Outcome(
        status=ledger.status,
        error=ledger.error,
        report=report,
        directory=store.directory,
        run_id=store.run_id,
        total_tasks=len(ledger.tasks),
        applied_recipes=tuple(r.id for r in job.recipes if r.id in run.recipes),
        reuse=reuse_record(run),
    )


def _note_crash(ledger: _Ledger, error: BaseException | None) -> None:
    if isinstance(error, Exception):  # a cancellation is none, nor is a group that holds one
        ledger.status, ledger.error = "failed", f"{type(error).__name__}: {error}"


def _limits_text(job: Job) -> str:
    """The limits of the process, which the request's own record does not hold."""
    deadline = "none" if job.timeout_seconds is None else f"{job.timeout_seconds:g} s"
    limits = ", ".join(f"{name} {limit_text(name)}" for name in job.environments)
    return f"request deadline {deadline}; {job.limits.slots.total_tokens} slots; {limits}"


async def _run_tasks(run: Run, ledger: _Ledger, run_task: RunTask) -> None:
    request = run.job.request
    log.info("AgentCompass %s: %s", __version__, _limits_text(run.job))
    emit_run(
        run,
        "run_started",
        model=request.model.id,
        benchmark=request.benchmark.id,
        harness=request.harness.id,
        environment=request.environment.id,
    )
    selected = selection_record(run.job.benchmark, ledger.tasks)
    if run.job.data is not None:
        selected["data_set"] = await trio.to_thread.run_sync(run.job.data.record)
    await run.store.update_run_info(**selected)
    emit_run(run, "tasks_loaded", total_tasks=len(ledger.tasks))
    if not ledger.tasks:
        log.warning("no task is selected: the run ends with empty metrics")
    if request.execution.enable_analysis:
        log.debug("analysis is on, and no analyzer is known: nothing is analyzed")
    if run.source is not None:
        try:
            await take_over(run, run.source, ledger.tasks)
        finally:
            ledger.add_finished(run.taken_over)
    if ledger.pending:
        await _run_pending(run, ledger, run_task)


async def _run_pending(run: Run, ledger: _Ledger, run_task: RunTask) -> None:
    async with AsyncExitStack() as stack:
        for environment in run.job.environments.values():
            await stack.enter_async_context(
                environment.running(keep=run.job.request.execution.keep_environment)
            )
        if run.job.model is not None:
            await stack.enter_async_context(run.job.model)
        await _run_all(run, ledger, run_task)


async def _run_all(run: Run, ledger: _Ledger, run_task: RunTask) -> None:
    total = len(ledger.tasks)
    all_done = trio.Event()

    async def run_one(index: int, task: TaskSpec) -> None:
        ledger.observed[task.task_id] = await run_task(run, task, index=index, total=total)
        if len(ledger.observed) == total:
            all_done.set()

    def start(index: int) -> None:
        task = ledger.tasks[index]
        nursery.start_soon(run_one, index, task, name=task.task_id)

    job = run.job
    async with trio.open_nursery() as nursery:
        nursery.start_soon(start_in_turn, job.limits, job.environments, ledger.pending, start)
        if total:
            try:
                await all_done.wait()
            except trio.Cancelled:
                run.cleanup.cancelled()
                raise


def _conclude(run: Run, ledger: _Ledger, *, timed_out: bool) -> None:
    if timed_out:
        ledger.status = "timed_out"
        ledger.error = f"request deadline exceeded: {run.job.timeout_seconds:g} s"
    elif any(_is_fatal(task) for task in ledger.observed.values()):
        ledger.status = "failed"
        ledger.error = f"Final FATAL issues; results: {run.store.directory}"
    else:
        ledger.status, ledger.error = "completed", None


def _is_fatal(task: TaskObservations) -> bool:
    return any(attempt.severity == "fatal" for attempt in task.attempts.values())


@contextmanager
def _written_or_failed(ledger: _Ledger) -> Iterator[None]:
    """Fail a run whose end cannot be written; what it measured is told all the same."""
    try:
        yield
    except StoreError as error:
        ledger.status, ledger.error = "failed", str(error)


async def _finish(run: Run, ledger: _Ledger) -> MetricReport:
    emit_run(run, "summary_started")
    report = await trio.to_thread.run_sync(make_report, run.job, ledger.observations())
    try:
        with _written_or_failed(ledger):
            await run.store.write_metrics(report, _summary(run, ledger, report))
    finally:
        with _written_or_failed(ledger):
            fields = {**reuse_record(run), "unsaved_tasks": run.unsaved or None}
            await run.store.finish(ledger.status, ledger.error, **fields)
        log.info("run %s: %s; %s", ledger.status, overview(report), ledger.error or "no error")
        payload: Mapping[str, str] = {"error": ledger.error} if ledger.error else {}
        emit_run(run, "run_finished", status=ledger.status, **payload)
    return report


def _summary(run: Run, ledger: _Ledger, report: MetricReport) -> str:
    request = run.job.request
    return render_summary(
        report,
        benchmark_id=request.benchmark.id,
        model_id=request.model.id,
        cut_short=CUT_SHORT.get(ledger.status),
    )
