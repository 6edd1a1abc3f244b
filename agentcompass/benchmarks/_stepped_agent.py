"""Has a harness work on the steps of a task, one agent after the other in one session."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs

from agentcompass.benchmarks._health import wait_until_healthy
from agentcompass.benchmarks._steps import Step, steps_of
from agentcompass.benchmarks._verifier import read_verdict, transcript
from agentcompass.deadlines import deadline
from agentcompass.errors import EnvironmentFailed, EvaluationFailed, ExecutionError, PhaseTimeout
from agentcompass.protocols import AgentContext, Harness, Session
from agentcompass.records.issue import Issue
from agentcompass.records.task import RunResult


class StepTimeout(PhaseTimeout):
    """The agent ran out of the time of one step; the step is scored all the same."""

    severity = "error"
    phase = "run"


class StepVerifierTimeout(EvaluationFailed):
    """Scoring a step ran out of its own time."""


@asynccontextmanager
async def stepped_agent(
    harness: Harness, session: Session, context: AgentContext
) -> AsyncIterator["SteppedAgent"]:
    """An agent for a whole task; it opens and closes one for each step as it comes to it."""
    yield SteppedAgent(harness=harness, session=session, context=context)


@attrs.frozen(kw_only=True, eq=False)
class SteppedAgent:
    """One attempt. `extra["steps"]` of its result tells each step that was begun, and its rewards.

    A step is not said to the agent, and its files are not there, before the one before it is
    scored; its tests and solution are gone before the next one begins.
    """

    harness: Harness
    session: Session
    context: AgentContext

    async def run(self, result: RunResult) -> None:
        """Work on the steps until one does not reach its `min_reward`.

        Raises what ends the attempt: a step that cannot be laid out, an agent's FATAL fault, or
        scoring without a verdict.
        """
        steps = steps_of(self.context.task)
        told = result.extra.setdefault("steps", [])
        for number, step in enumerate(steps):
            if number:
                await steps[number - 1].verifier.take_away(self.session)
            told.append({"name": step.name, "rewards": None})
            await self._lay_out(step)
            await self._work(step, result)
            told[-1]["rewards"] = await self._score(step, result)
            if not step.passes(told[-1]["rewards"]):
                return

    async def collect(self, result: RunResult) -> None:
        """Each step's agent has collected already."""

    async def _lay_out(self, step: Step) -> None:
        if step.workdir_dir is not None:
            await self.session.upload(Path(step.workdir_dir), self.session.workdir)
            if (Path(step.workdir_dir) / "setup.sh").is_file():
                done = await self.session.exec(["bash", "setup.sh"], user=step.agent_user)
                if not done.ok:
                    raise EnvironmentFailed(
                        f"setup.sh of step {step.name!r} ended with exit code {done.exit_code}:"
                        f" {done.stderr[-200:]}",
                        phase="setup",
                    )
        if step.healthcheck is not None:
            await wait_until_healthy(step.healthcheck, self.session)

    async def _work(self, step: Step, result: RunResult) -> None:
        part = RunResult(task_id=result.task_id, category=result.category)
        try:
            async with self.harness.start(self.session, self._context(step)) as agent:
                try:
                    with deadline(
                        self._scaled(step.run_seconds),
                        stretch=f"run_harness of step {step.name!r}",
                        error=StepTimeout,
                    ):
                        await agent.run(part)
                except ExecutionError as error:  # scored all the same, unless it is FATAL
                    part.add_issue(_issue(error))
                seconds = self.context.plan.runresult_collect_timeout_seconds
                with deadline(seconds, stretch=f"collect_harness_result of step {step.name!r}"):
                    await agent.collect(part)
        finally:
            _take_over(part, step, result)

    def _context(self, step: Step) -> AgentContext:
        task, prepared = step.seen_by_agent(self.context.task), self.context.prepared
        mine = attrs.evolve(prepared, input=attrs.evolve(prepared.input, prompt=step.instruction))
        return attrs.evolve(self.context, task=task, prepared=mine)

    def _scaled(self, seconds: float | None) -> float | None:
        """A step's limit as the user stretched or shortened that of the whole run."""
        planned, asked = self.context.plan.run_timeout_seconds, self.context.task
        if seconds is None or planned is None or asked.run_timeout_seconds is None:
            return seconds
        return seconds * planned / asked.run_timeout_seconds

    async def _score(self, step: Step, result: RunResult) -> dict[str, float]:
        await self._collect(step)
        plan = self.context.plan
        switches = plan.verifier_network_policy != plan.run_network_policy
        if switches:
            await self.session.set_network_policy(plan.verifier_network_policy)
        await step.verifier.lay_out(self.session)
        with deadline(
            self._scaled(step.evaluation_seconds),
            stretch=f"evaluate of step {step.name!r}",
            error=StepVerifierTimeout,
        ):
            ended = await step.verifier.run(self.session)
            result.artifacts.setdefault("verifiers", {})[step.name] = transcript(ended)
            verdict = await read_verdict(self.session, ended)
        if switches:
            await self.session.set_network_policy(plan.run_network_policy)
        return dict(verdict.rewards)

    async def _collect(self, step: Step) -> None:
        for command in step.collect:
            done = await self.session.exec(
                ["bash", "-c", command.command],
                timeout_seconds=command.timeout_seconds,
                user=command.user,
            )
            if not done.ok:
                how = "ran out of time" if done.timed_out else f"exit code {done.exit_code}"
                raise EnvironmentFailed(
                    f"a collection command of step {step.name!r} failed, {how}:"
                    f" {done.stderr[-200:]}",
                    phase="collect",
                )


def _issue(error: ExecutionError) -> Issue:
    """A fault of a step's agent; raised again where nothing may follow it."""
    if error.severity == "fatal":
        raise error
    return Issue(severity=error.severity, phase="run", code=error.code, message=str(error))


def _take_over(part: RunResult, step: Step, whole: RunResult) -> None:
    """Add what one step's agent left to the result of the attempt."""
    part.mend()
    for issue in part.issues:
        whole.add_issue(attrs.evolve(issue, message=f"step {step.name!r}: {issue.message}"))
    whole.final_answer = part.final_answer
    if part.status != "completed":
        whole.status = part.status
    if part.artifacts:
        whole.artifacts.setdefault("steps", {})[step.name] = part.artifacts
    for name, value in part.telemetry.items():
        whole.telemetry[name] = _added(whole.telemetry.get(name), value)
    whole.trajectory = _joined(whole.trajectory, part.trajectory)


def _added(before: Any, value: Any) -> Any:
    numbers = isinstance(before, int | float) and isinstance(value, int | float)
    return before + value if numbers else value


def _joined(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """One ACTF trajectory of two; one that is none stands for itself."""
    steps, more = before.get("steps"), after.get("steps")
    if not (isinstance(steps, list) and isinstance(more, list)):
        return after or before
    joined: Sequence[Any] = [*steps, *more]
    numbered = [
        {**entry, "step_id": number} if isinstance(entry, dict) else entry
        for number, entry in enumerate(joined)
    ]
    return {**after, "steps": numbered, "started_at": before.get("started_at")}
