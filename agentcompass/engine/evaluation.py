"""The scoring half of an execution, which can be retried alone."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from agentcompass.deadlines import deadline
from agentcompass.engine.artifacts import restore_artifacts
from agentcompass.engine.execution_state import Execution
from agentcompass.engine.issues import issue_from
from agentcompass.engine.limits import Permit
from agentcompass.engine.sessions import OpenSession
from agentcompass.errors import EvaluationFailed, ExecutionError
from agentcompass.metrics.observations import check_metrics
from agentcompass.protocols import Session
from agentcompass.records.environment import EnvironmentPlan
from agentcompass.records.metrics import MetricInvalid


async def run_evaluation(
    execution: Execution, permit: Permit, session: Session | None = None
) -> None:
    """Score the agent's work into a fresh copy of its result; a fault becomes an issue.

    `session` is the agent's own, still open, in mode `reuse`. Otherwise the permit goes on to the
    verifier's provider, or gives the provider's part back where scoring needs no environment.
    """
    execution.begin_scoring()
    verifier = execution.plan.evaluation_environment
    try:
        if session is not None:
            await _score(execution, session)
        elif verifier is None:
            await permit.move_to(None)
            await _score(execution, None)
        else:
            await permit.move_to(verifier.id)
            async with _open_verifier(execution, verifier) as fresh:
                await _score(execution, fresh)
    except ExecutionError as error:
        execution.add_issue(issue_from(error, phase=execution.phase))


@asynccontextmanager
async def _open_verifier(
    execution: Execution, environment: EnvironmentPlan
) -> AsyncIterator[Session]:
    execution.enter("evaluate_environment")
    async with OpenSession(
        execution.run,
        environment,
        task_id=execution.task.task_id,
        attempt=execution.number,
        role="verifier",
        on_close_fault=execution.close_fault,
        on_cut_off=execution.keep_output,
    ) as session:
        await _restore(execution, session)
        yield session


async def _restore(execution: Execution, session: Session) -> None:
    entries = () if execution.manifest is None else execution.manifest.entries
    # Where a provider makes the implicit folder, an empty one is collected.
    if not any(entry.status == "collected" and entry.file_count for entry in entries):
        message = (
            "the fresh verifier was given nothing of the agent's: no artifact with a file in it was"
            " collected; the task's artifacts declare what to restore"
        )
        execution.warn("evaluate", "nothing_restored", message)
    await restore_artifacts(execution, session)


async def _score(execution: Execution, session: Session | None) -> None:
    plan, prepared = execution.plan, execution.prepared
    assert prepared is not None, "an execution is scored after it was prepared"
    execution.enter("evaluate")
    if session is not None and plan.verifier_network_policy != _current_policy(execution):
        await session.set_network_policy(plan.verifier_network_policy)
    benchmark = execution.run.job.benchmark
    await benchmark.prepare_evaluation(execution.task, prepared, plan, session)
    verdict: Mapping[str, bool | float] = {}  # one that breaks off gives none
    try:
        with deadline(plan.evaluation_timeout_seconds, stretch="evaluate", error=VerifierTimeout):
            await benchmark.evaluate(execution.task, prepared, execution.result, plan, session)
        execution.check_result(EvaluationFailed, "the scorer")
        verdict = execution.result.metrics
    except VerifierTimeout:
        verdict = benchmark.evaluation_timeout_metrics
        raise
    finally:
        execution.result.metrics = dict(verdict)
    _check_metrics(execution)


class VerifierTimeout(EvaluationFailed):
    """Scoring ran out of its own deadline."""


def _current_policy(execution: Execution) -> object:
    plan = execution.plan
    if plan.evaluation_environment is not None:
        return plan.evaluation_environment.network_policy
    return plan.run_network_policy


def _check_metrics(execution: Execution) -> None:
    result, contract = execution.result, execution.run.contract
    try:
        check_metrics(
            result.metrics, contract, task_id=execution.task.task_id, attempt=execution.number
        )
    except MetricInvalid as error:
        result.metrics = {}
        raise EvaluationFailed(str(error), code="metric_invalid", severity="fatal") from error
    if contract.primary not in result.metrics and result.status != "skipped":
        raise EvaluationFailed(
            f"scoring ended without the primary metric {contract.primary!r}", code="metric_missing"
        )
