"""One execution: the phases in their order, each under its own deadline."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from agentcompass.abilities import RunsItself
from agentcompass.deadlines import deadline
from agentcompass.engine.artifacts import download_artifacts, run_collect_commands
from agentcompass.engine.budget import CountedConversation, ExecutionAllowance
from agentcompass.engine.execution_state import Execution
from agentcompass.engine.issues import issue_from
from agentcompass.engine.limits import Permit
from agentcompass.engine.observed import task_header
from agentcompass.engine.recording import conversation_of
from agentcompass.engine.results import evaluation_checkpoint
from agentcompass.engine.sessions import OpenSession
from agentcompass.errors import ExecutionError, HarnessFailed, PhaseTimeout, StoreError
from agentcompass.protocols import Agent, AgentContext, Harness, Session

Evaluate = Callable[[Execution, Permit, Session | None], Awaitable[None]]


class RunTimeout(PhaseTimeout):
    """The agent ran out of its time; its work is scored all the same."""

    severity = "error"


async def run_execution(execution: Execution, permit: Permit, evaluate: Evaluate) -> None:
    """Run the agent in a session and score its work; what goes wrong becomes an issue.

    An ERROR of the agent is still scored; after a FATAL issue nothing follows but the closing.
    """
    plan, job = execution.plan, execution.run.job
    try:
        execution.enter("open_environment")
        async with OpenSession(
            execution.run,
            plan.environment,
            task_id=execution.task.task_id,
            attempt=execution.number,
            role="agent",
            on_close_fault=execution.close_fault,
            on_cut_off=execution.keep_output,
        ) as session:
            execution.enter("prepare_task")
            execution.prepared = await job.benchmark.prepare_task(execution.task, session, plan)
            await _run_agent(execution, session)
            await _collect_artifacts(execution, session)
            await _keep_agent_result(execution)
            if execution.may_score and plan.evaluation_mode == "reuse":
                await evaluate(execution, permit, session)
    except ExecutionError as error:
        execution.add_issue(issue_from(error, phase=execution.phase))
    if execution.may_score and plan.evaluation_mode != "reuse":
        await evaluate(execution, permit, None)


async def _run_agent(execution: Execution, session: Session) -> None:
    context = _context(execution)
    harness = execution.run.job.harness
    try:
        if harness is None:
            await _run_itself(execution, session, context)
        else:
            await _run_harness(execution, session, context, harness)
    finally:
        _note_calls(execution, context)
    execution.check_result(HarnessFailed, "the agent")


def _note_calls(execution: Execution, context: AgentContext) -> None:
    spent = {} if context.conversation is None else context.conversation.spent()
    # What a plug-in left in its result is checked later, and may be anything.
    if spent.get("calls") and isinstance(execution.result.telemetry, dict):
        execution.result.telemetry["model"] = dict(spent)


def _context(execution: Execution) -> AgentContext:
    model, task = execution.run.job.model, execution.task
    assert execution.prepared is not None, "prepare_task comes first"
    allowance = conversation = None
    if model is not None:
        accounts = (execution.account, execution.run.account)
        allowance = ExecutionAllowance(accounts=accounts, model=model)
        talk = conversation_of(execution, model)
        conversation = CountedConversation(conversation=talk, allowance=allowance)
    return AgentContext(
        task=task,
        prepared=execution.prepared,
        attempt=execution.number,
        plan=execution.plan,
        conversation=conversation,
        model=None if model is None else execution.run.job.request.model,
        allowance=allowance,
        cleanup=execution.run.cleanup,
    )


async def _run_harness(
    execution: Execution, session: Session, context: AgentContext, harness: Harness
) -> None:
    plan = execution.plan
    execution.enter("start_harness")
    async with _starting(execution, session, context, harness) as agent:
        limit = plan.run_timeout_seconds
        if limit is not None:
            limit += plan.run_timer_compensation_seconds
        await _switch_network(execution, session)
        await _under_run_deadline(execution, "run_harness", limit, agent.run)
        execution.enter("collect_harness_result")
        with deadline(plan.runresult_collect_timeout_seconds, stretch="collect_harness_result"):
            await agent.collect(execution.result)


def _starting(
    execution: Execution, session: Session, context: AgentContext, harness: Harness
) -> AbstractAsyncContextManager[Agent]:
    between = execution.run.starts_agents
    if between is not None:
        return between.start_agent(harness, session, context)
    return harness.start(session, context)


async def _run_itself(execution: Execution, session: Session, context: AgentContext) -> None:
    benchmark = execution.run.job.benchmark
    if not isinstance(benchmark, RunsItself):
        raise HarnessFailed(f"benchmark {benchmark.id!r} needs a harness: it has no run_task")
    await _switch_network(execution, session)

    async def work(result: object) -> None:
        await benchmark.run_task(session, context, execution.result)

    limit = execution.plan.run_timeout_seconds
    await _under_run_deadline(execution, "run_task", limit, work)


async def _switch_network(execution: Execution, session: Session) -> None:
    plan = execution.plan
    if plan.run_network_policy != plan.environment.network_policy:
        execution.phase = "run_harness"
        await session.set_network_policy(plan.run_network_policy)


async def _under_run_deadline(
    execution: Execution,
    phase: str,
    seconds: float | None,
    work: Callable[..., Awaitable[None]],
) -> None:
    execution.enter(phase)
    try:
        with deadline(seconds, stretch=phase, error=RunTimeout):
            await work(execution.result)
    except (ExecutionError, TimeoutError) as error:
        execution.add_issue(issue_from(error, phase=phase))


async def _collect_artifacts(execution: Execution, session: Session) -> None:
    plan = execution.plan
    if plan.artifact_collect:
        execution.enter(
            "collect_artifacts",
            command_count=len(plan.artifact_collect),
            source="declared_commands",
            timeout_seconds=plan.artifact_collect_timeout_seconds,
        )
        await run_collect_commands(session, plan)
    if plan.save_artifacts:
        execution.enter("download_artifacts", operation="download")
        await download_artifacts(execution, session)


async def _keep_agent_result(execution: Execution) -> None:
    if execution.is_fatal:
        return
    execution.keep_agent_result()
    if execution.may_rescore:
        execution.enter("save_evaluation_checkpoint")
        try:
            await execution.run.store.save_evaluation_checkpoint(
                task_header(execution.run.job, execution.task), evaluation_checkpoint(execution)
            )
        except StoreError as error:  # it can be scored all the same, only not by a later run
            execution.warn("collect", "checkpoint_unsaved", str(error))
