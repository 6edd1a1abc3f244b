"""One attempt: executions until one is good or the retries are used up."""

import logging
from collections.abc import Awaitable, Callable

import attrs
import trio

from agentcompass.deadlines import cleanup
from agentcompass.engine.boundary import boundary
from agentcompass.engine.budget import Account, attempt_account
from agentcompass.engine.events import TaskEvents
from agentcompass.engine.execution_state import Execution
from agentcompass.engine.job import Run
from agentcompass.engine.limits import Permit
from agentcompass.engine.planning import bare_plan, plan_task
from agentcompass.engine.recovery import CheckpointUnusable, recover
from agentcompass.engine.results import attempt_result
from agentcompass.engine.retry import Retry
from agentcompass.errors import StoreError
from agentcompass.progress.console import FILE_ONLY
from agentcompass.protocols import Session
from agentcompass.records.attempt import AttemptResult, TaskHeader
from agentcompass.records.checkpoint import RetryDetail
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.task import TaskSpec

log = logging.getLogger(__name__)

RunExecution = Callable[[Execution, Permit], Awaitable[None]]
RunEvaluation = Callable[[Execution, Permit, Session | None], Awaitable[None]]


@attrs.frozen(kw_only=True, eq=False)
class AttemptJob:
    """Which attempt of which task."""

    run: Run
    events: TaskEvents
    task: TaskSpec
    header: TaskHeader
    number: int
    account: Account = attrs.field()

    @account.default
    def _new_account(self) -> Account:
        return attempt_account(self.run.job.request.execution.attempt_budget)


async def run_attempt(
    attempt: AttemptJob, run_execution: RunExecution, run_evaluation: RunEvaluation
) -> AttemptResult | None:
    """Execute, and go on as the retry policy says; no limit is held during a back-off.

    None is an attempt that was not begun, since the run's budget was used up.
    """
    execution = _planned(attempt)
    retries = 0
    try:
        if not execution.is_fatal:  # planning is not retried
            begun = await _first(attempt, execution, run_execution, run_evaluation)
            if begun is None:
                return None
            execution = begun
            while retry := _next_retry(attempt, execution, retries):
                retries += 1
                with boundary(execution):  # what cannot be set aside is not retried
                    await _back_off(attempt, execution, retry, retries)
                    again = await _again(attempt, execution, retry, run_execution, run_evaluation)
                    execution = again or execution
    except trio.Cancelled:
        await _record_interruption(attempt, execution, retries)
        raise
    return _conclude(attempt, execution, retries)


def _conclude(attempt: AttemptJob, execution: Execution, retries: int) -> AttemptResult:
    if execution.key not in attempt.run.resumed:
        attempt.run.executed.add(execution.key)  # also where its planning failed
    result = attempt_result(execution, retry_count=retries)
    _log_issues(execution)
    attempt.events.attempt_started(attempt.number)
    attempt.events.attempt_finished(attempt.number, execution.severity)
    return result


def _next_retry(attempt: AttemptJob, execution: Execution, used: int) -> Retry | None:
    """The next retry, unless it would call a model that it may not call any more."""
    retry = attempt.run.job.retry.decide(
        execution.result.issues, used=used, may_rescore=execution.may_rescore
    )
    if retry is None or retry.scope == "evaluate":
        return retry
    fault = attempt.account.fault or attempt.run.account.refuses()
    if fault is not None:
        log.info("%s: not tried again: %s", execution.name, fault)
    return retry if fault is None else None


def _log_issues(execution: Execution) -> None:
    for issue in execution.result.issues:
        level = logging.INFO if issue.severity == "warning" else logging.WARNING
        text = (execution.name, issue.severity, issue.text)
        log.log(level, "%s: %s %s", *text, extra=FILE_ONLY)


def _new_execution(attempt: AttemptJob, plan: ExecutionPlan) -> Execution:
    return Execution(
        run=attempt.run,
        events=attempt.events,
        task=attempt.task,
        number=attempt.number,
        plan=plan,
        account=attempt.account,
    )


def _planned(attempt: AttemptJob) -> Execution:
    execution = _new_execution(attempt, bare_plan(attempt.run.job, attempt.task))
    with boundary(execution):
        execution.plan = plan_task(attempt.run, attempt.task)
    return execution


async def _first(
    attempt: AttemptJob,
    execution: Execution,
    run_execution: RunExecution,
    run_evaluation: RunEvaluation,
) -> Execution | None:
    """Score what an earlier run saved, or execute the attempt, if its run may still begin one."""
    taken = attempt.run.taken_over.get(attempt.task.task_id)
    if taken is None or attempt.number not in taken.resumable:
        return execution if await _execute(execution, run_execution) else None
    try:
        await _resume(execution, run_evaluation)
    except CheckpointUnusable as error:
        log.warning("%s: its saved work is not scored, it is executed: %s", execution.name, error)
        with boundary(execution):
            return await _anew(attempt, execution, run_execution)
    return execution


async def _execute(
    execution: Execution, run_execution: RunExecution, *, again: bool = False
) -> bool:
    """Execute it; False where its run may not begin anything more.

    `again` sets aside what the execution before it left, once it is clear that it begins.
    """
    run = execution.run
    async with run.job.limits.admit(execution.plan.environment.id) as permit:
        if run.account.refuses():
            return False
        if again:
            await run.store.set_aside(*execution.key)
        run.executed.add(execution.key)
        with boundary(execution):
            await _announce(execution)
            await run_execution(execution, permit)
    return True


async def _resume(execution: Execution, run_evaluation: RunEvaluation) -> None:
    verifier = execution.plan.evaluation_environment
    limits = execution.run.job.limits
    async with limits.admit(None if verifier is None else verifier.id) as permit:
        await _announce(execution)
        await recover(execution)
        execution.run.resumed.add(execution.key)
        with boundary(execution):
            await run_evaluation(execution, permit, None)


async def _announce(execution: Execution) -> None:
    """Say what is meant, durably before anything is opened: a crash leaves word of it."""
    run = execution.run
    record = run.records.of(execution.plan)
    execution.events.attempt_started(execution.number)
    execution.enter("plan")
    run.store.record_plan(execution.task.task_id, execution.number, record)
    execution.events.plan_resolved(execution.number, record)
    await run.store.flush()


async def _again(
    attempt: AttemptJob,
    execution: Execution,
    retry: Retry,
    run_execution: RunExecution,
    run_evaluation: RunEvaluation,
) -> Execution | None:
    """The execution that was scored again, or a new one; None where none may begin any more."""
    limits = attempt.run.job.limits
    if retry.scope == "evaluate":
        verifier = execution.plan.evaluation_environment
        async with limits.admit(None if verifier is None else verifier.id) as permit:
            with boundary(execution):
                await run_evaluation(execution, permit, None)
        return execution
    return await _anew(attempt, execution, run_execution)


async def _anew(
    attempt: AttemptJob, execution: Execution, run_execution: RunExecution
) -> Execution | None:
    anew = _new_execution(attempt, execution.plan)
    return anew if await _execute(anew, run_execution, again=True) else None


async def _back_off(attempt: AttemptJob, execution: Execution, retry: Retry, retries: int) -> None:
    job = attempt.run.job
    longest = job.retry.backoff(retries)
    seconds = job.rng.uniform(longest / 2, longest)
    detail = RetryDetail(
        task_id=attempt.task.task_id,
        category=attempt.task.category,
        attempt=attempt.number,
        retry=retries,
        max_retries=job.retry.max_retries,
        retry_delay_seconds=seconds,
        stage=retry.stage,
        scope=retry.scope,
        matched_pattern=retry.matched_pattern,
        issues=tuple(execution.result.issues),
        discarded_result=execution.result,
    )
    path = await attempt.run.store.save_retry(detail)
    attempt.events.retry(attempt.number, {**detail.announcement(), "retry_detail": path})
    log.info("%s: retry %d in %.1f s: %s", execution.name, retries, seconds, retry.reason)
    attempt.events.phase("retry_wait", attempt.number, retry=retries, retry_delay_seconds=seconds)
    await trio.sleep(seconds)


async def _record_interruption(attempt: AttemptJob, execution: Execution, retries: int) -> None:
    if not attempt.events.has_started(attempt.number):
        return
    with cleanup(attempt.run.cleanup):
        try:
            await attempt.run.store.save_interrupted(
                attempt.header, attempt.number, phase=execution.phase, retries=retries
            )
        except StoreError as error:  # must not take the place of the cancellation
            log.warning("%s: its interruption is not on record: %s", execution.name, error)
