"""One request: its tasks in one nursery, under one deadline, to a final state that is written."""

import logging
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import attrs
import trio

from agentcompass._version import __version__
from agentcompass.abilities import TellsTraffic
from agentcompass.deadlines import CleanupClock, cleanup
from agentcompass.engine.events import emit_run, emit_traffic
from agentcompass.engine.job import Job, Run
from agentcompass.engine.ledger import Ledger
from agentcompass.engine.limits import limit_text
from agentcompass.engine.loading import find_source, load
from agentcompass.engine.reporting import make_report
from agentcompass.engine.selection import selection_record
from agentcompass.engine.starting import start_in_turn
from agentcompass.engine.takeover import reuse_record, take_over
from agentcompass.errors import StoreError
from agentcompass.metrics.observations import TaskObservations
from agentcompass.metrics.summary import CUT_SHORT, overview, render_summary
from agentcompass.plugin_edge import plugin_context
from agentcompass.progress.console import FILE_ONLY
from agentcompass.records.metrics import MetricReport
from agentcompass.records.task import TaskSpec

# Writing metrics and summary is not cleanup of what runs, so it has a bound of its own.
FINAL_WRITE_SECONDS = 60.0
NOT_WRITTEN = (
    f"metrics and summary were not written within {FINAL_WRITE_SECONDS:g} s; make them anew with"
    " `agentcompass summary`"
)
NO_ANSWER = (
    "no model call got an answer; check --model-base-url (model_base_url), the name of the model"
    " and its key"
)

log = logging.getLogger(__name__)


class RunTask(Protocol):
    """The level below: run one task to its published record."""

    def __call__(
        self, run: Run, task: TaskSpec, *, index: int, total: int
    ) -> Awaitable[TaskObservations | None]: ...


@attrs.frozen(kw_only=True)
class Outcome:
    """How a request ended: `status` is completed, failed, timed_out or cancelled.

    `applied_recipes` are those that any plan took, in the order in which they are tried. `reuse` is
    empty unless an earlier run was reused: then its origin, and the counts of attempts.
    `spent` is what run_info.json says of the model calls.
    """

    status: str
    error: str | None
    report: MetricReport
    directory: Path
    run_id: str
    total_tasks: int
    applied_recipes: tuple[str, ...] = ()
    reuse: Mapping[str, Any] = attrs.field(factory=dict)
    spent: Mapping[str, Any] = attrs.field(factory=dict)


async def run_request(
    job: Job, run_task: RunTask, *, on_end: Callable[[Outcome], None] = lambda _outcome: None
) -> Outcome:
    """Load, run and write one request.

    Raises `UsageError`, before a run directory exists, for task ids, data or metrics that cannot
    be, and `StoreError` where the final state cannot be written in time. A cancellation from
    outside is passed on once the final state is written and `on_end` told.
    """
    ends_at = job.deadline()
    loaded = await load(job, ends_at)
    ledger, source = Ledger(loaded.tasks), await find_source(job, loaded, ends_at)
    clock = CleanupClock(job.request.execution.cleanup_grace_seconds)
    async with job.open_store(clock) as store:
        run = Run(job=job, store=store, cleanup=clock, basis=loaded.basis, source=source)
        try:
            with trio.CancelScope(deadline=ends_at) as scope:
                await _run_tasks(run, ledger, run_task)
            ledger.conclude(run, timed_out=scope.cancelled_caught)
        finally:
            ledger.note_crash(sys.exception())
            with cleanup(CleanupClock(FINAL_WRITE_SECONDS)) as writing:
                outcome = _outcome(run, ledger, await _finish(run, ledger))
                on_end(outcome)
    if writing.cancelled_caught:
        raise StoreError(f"{store.directory}: {NOT_WRITTEN}")
    return outcome


def _outcome(run: Run, ledger: Ledger, report: MetricReport) -> Outcome:
    return Outcome(
        status=ledger.status,
        error=ledger.error,
        report=report,
        directory=run.store.directory,
        run_id=run.store.run_id,
        total_tasks=len(ledger.tasks),
        applied_recipes=tuple(r.id for r in run.job.recipes if r.id in run.recipes),
        reuse=reuse_record(run),
        spent=run.account.record(),
    )


def _limits_text(job: Job) -> str:
    """The limits of the process, which the request's own record does not hold."""
    deadline = "none" if job.timeout_seconds is None else f"{job.timeout_seconds:g} s"
    limits = ", ".join(f"{name} {limit_text(name)}" for name in job.environments)
    whose = "request" if job.ends_at is None else "orchestration"
    return f"{whose} deadline {deadline}; {job.limits.slots.total_tokens} slots; {limits}"


async def _run_tasks(run: Run, ledger: Ledger, run_task: RunTask) -> None:
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
    selected = selection_record(run.basis, ledger.tasks)
    if run.job.data is not None:
        selected["data_set"] = await trio.to_thread.run_sync(run.job.data.record)
    await run.store.update_run_info(**selected)
    emit_run(run, "tasks_loaded", total_tasks=len(ledger.tasks))
    if not ledger.tasks:
        log.warning("no task is selected: the run ends with empty metrics")
    if request.execution.enable_analysis:
        log.debug("analysis is on, and no analyzer is known: nothing is analyzed")
    if run.source is not None:
        await take_over(run, run.source, ledger)
    if ledger.pending:
        await _run_pending(run, ledger, run_task)


async def _run_pending(run: Run, ledger: Ledger, run_task: RunTask) -> None:
    keep = run.job.request.execution.keep_environment
    async with AsyncExitStack() as stack:
        for name, environment in run.job.environments.items():
            running = partial(environment.running, keep=keep)
            await stack.enter_async_context(
                plugin_context(f"environment {name!r}: running", running)
            )
        if (model := run.job.model) is not None:
            if isinstance(model, TellsTraffic):
                model.listen(partial(emit_traffic, run))
            await stack.enter_async_context(plugin_context(f"model {model.id!r}", lambda: model))
        await _run_all(run, ledger, run_task)


async def _run_all(run: Run, ledger: Ledger, run_task: RunTask) -> None:
    total = len(ledger.tasks)
    left = len(ledger.pending)
    all_done = trio.Event()

    async def run_one(index: int, task: TaskSpec) -> None:
        nonlocal left
        observed = await run_task(run, task, index=index, total=total)
        if observed is not None:
            ledger.observed[task.task_id] = observed
        left -= 1
        if not left:
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


async def _finish(run: Run, ledger: Ledger) -> MetricReport:
    emit_run(run, "summary_started")
    numbers = "no metrics"
    try:
        observed = ledger.observations()
        report = await trio.to_thread.run_sync(make_report, run.job, run.basis, observed)
        numbers = overview(report)
        with ledger.written_or_failed():
            await run.store.write_metrics(report, _summary(run, ledger, report))
    finally:
        ledger.note_crash(sys.exception())
        await _end(run, ledger, numbers)
    return report


async def _end(run: Run, ledger: Ledger, numbers: str) -> None:
    spent = run.account.record()
    with ledger.written_or_failed():
        fields = {**reuse_record(run), **spent, "unsaved_tasks": run.unsaved or None}
        await run.store.finish(ledger.status, ledger.error, **fields)
    if taken := spent.get("spent"):
        text = ", ".join(f"{name} {number}" for name, number in taken.items())
        log.info("model calls took %s", text, extra=FILE_ONLY)
    if run.account.got_no_answer and not run.account.replayed:
        log.warning(NO_ANSWER)
    log.info("run %s: %s; %s", ledger.status, numbers, ledger.outcome)
    payload: Mapping[str, str] = {"error": ledger.error} if ledger.error else {}
    emit_run(run, "run_finished", status=ledger.status, **payload)


def _summary(run: Run, ledger: Ledger, report: MetricReport) -> str:
    request = run.job.request
    return render_summary(
        report,
        benchmark_id=request.benchmark.id,
        model_id=request.model.id,
        cut_short=run.account.fault if run.account.refused else CUT_SHORT.get(ledger.status),
    )
