"""Tasks in Harbor's format, wherever they are kept: laid out in a session, scored by test.sh."""

import os
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Literal

import attrs

from agentcompass.benchmarks._common import CommonConfig
from agentcompass.benchmarks._layout import lay_out, lay_out_again
from agentcompass.benchmarks._rewards import main_reward
from agentcompass.benchmarks._selection import select
from agentcompass.benchmarks._stepped_agent import stepped_agent
from agentcompass.benchmarks._steps import combined, steps_of
from agentcompass.benchmarks._task_folder import find_replies, find_tasks, load_task
from agentcompass.benchmarks._verifier import (
    Verdict,
    Verifier,
    read_verdict,
    transcript,
)
from agentcompass.errors import EvaluationFailed, TaskInvalid
from agentcompass.protocols import Agent, AgentContext, Harness, Session
from agentcompass.records.issue import Issue
from agentcompass.records.metrics import MetricContract, binary_contract, scalar_contract
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.task import EvaluationMode, PreparedTask, RunResult, TaskInput, TaskSpec


@attrs.frozen(kw_only=True)
class HarborConfig(CommonConfig):
    """What every benchmark of Harbor task folders can be told."""

    metric: Literal["auto", "correct", "score"] = attrs.field(
        default="auto",
        metadata={
            "help": "correct: solved at reward 1.0, else not; score: the reward itself; auto:"
            " score if a task of the data set says `graded = true` in its [metadata], else correct."
        },
    )


class HarborBenchmark:
    """The benchmark over one folder of tasks: `root`, or what a subclass says by `folder`."""

    evaluation_mode: EvaluationMode = "reuse"
    evaluation_modes: frozenset[EvaluationMode] = frozenset({"reuse", "fresh"})

    def __init__(self, config: HarborConfig, root: Path | None) -> None:
        self.config = config
        self.root = root
        self.aggregation_mode = config.aggregation_mode
        self.category_hierarchy = config.category_hierarchy
        self.evaluation_timeout_metrics: Mapping[str, bool | float] = {}
        self.replies = None if root is None else find_replies(root)
        self._graded = False

    def folder(self, data_dir: Path) -> Path:
        """Where the tasks are."""
        assert self.root is not None, "a subclass without a root says where its tasks are"
        return self.root

    def load_tasks(self, data_dir: Path) -> tuple[TaskSpec, ...]:
        """The selected tasks, sorted by name; a broken one carries its fault. Blocking.

        Raises `UsageError` where there are no task folders, or for an id that is not there.
        """
        tasks = tasks_below(self.folder(data_dir))
        self._graded = any(task.metadata.get("graded") for task in tasks)
        return select(tasks, self.config.sample_ids)

    def metric_contract(self) -> MetricContract:
        """`score` where the parameter `metric` or any task asks for it, else `correct`."""
        metric = self.config.metric
        if metric == "score" or (metric == "auto" and self._graded):
            return scalar_contract()
        return binary_contract()

    async def prepare_task(
        self, task: TaskSpec, session: Session, plan: ExecutionPlan
    ) -> PreparedTask:
        """Lay out what the agent is to find, healthy; see `_layout`."""
        if plan.evaluation_mode != "reuse" and steps_of(task):
            raise TaskInvalid(
                f"task {task.task_id!r} has several steps, each scored in the agent's session as it"
                f" comes to it: evaluation_mode {plan.evaluation_mode} cannot be had"
            )
        await lay_out(task, session)
        return PreparedTask(
            task_id=task.task_id,
            category=task.category,
            ground_truth=task.ground_truth,
            input=TaskInput(prompt=task.instruction, workspace=session.workdir),
        )

    async def prepare_evaluation(
        self,
        task: TaskSpec,
        prepared: PreparedTask,
        plan: ExecutionPlan,
        session: Session | None,
    ) -> None:
        """Bring in the tests, and empty the folders of the verdict."""
        assert session is not None, "none is not among the evaluation modes"
        if steps_of(task):  # they were scored as the agent came to them
            return
        if plan.evaluation_mode == "fresh":
            await lay_out_again(task, session)
        await _verifier(task, plan).lay_out(session)

    async def evaluate(
        self,
        task: TaskSpec,
        prepared: PreparedTask,
        result: RunResult,
        plan: ExecutionPlan,
        session: Session | None,
    ) -> None:
        """Run tests/test.sh and score by the reward that it leaves; see `_verifier` for faults."""
        assert session is not None, "none is not among the evaluation modes"
        if steps_of(task):
            self._score(_verdict_of_steps(task, result), result)
            return
        ended = await _verifier(task, plan).run(session)
        result.artifacts["verifier"] = transcript(ended)
        self._score(await read_verdict(session, ended), result)

    def start_agent(
        self, harness: Harness, session: Session, context: AgentContext
    ) -> AbstractAsyncContextManager[Agent]:
        """As `harness.start`; the agent of a task of several steps is one for each step."""
        if steps_of(context.task):
            return stepped_agent(harness, session, context)
        return harness.start(session, context)

    def _score(self, verdict: Verdict, result: RunResult) -> None:
        result.extra["rewards"] = dict(verdict.rewards)
        reward = main_reward(verdict.rewards)
        if verdict.ignored is not None:
            result.add_issue(_ignored(verdict.ignored))
        if self.metric_contract().primary == "score":
            result.metrics["score"] = reward
            return
        result.metrics["correct"] = reward == 1.0
        if reward not in (0.0, 1.0):
            result.add_issue(_not_binary(reward))


def tasks_below(folder: Path) -> list[TaskSpec]:
    """Every task of a folder, sorted by name; `UsageError` where there is none. Blocking."""
    return [load_task(found, os.environ) for found in find_tasks(folder)]


def _verifier(task: TaskSpec, plan: ExecutionPlan) -> Verifier:
    tests = task.metadata.get("tests_dir")
    return Verifier(
        tests_dirs=() if tests is None else (Path(tests),),
        env=task.metadata["verifier_env"],
        user=task.metadata.get("verifier_user"),
        in_image=plan.evaluation_mode == "fresh" and bool(task.metadata.get("tests_in_image")),
    )


def _verdict_of_steps(task: TaskSpec, result: RunResult) -> Verdict:
    told = result.extra.get("steps") or [{"name": steps_of(task)[0].name, "rewards": None}]
    for step in told:
        if step["rewards"] is None:
            raise EvaluationFailed(
                f"step {step['name']!r} was not scored, so that the task has no verdict",
                code="step_not_scored",
            )
    strategy = task.metadata.get("reward_strategy", "mean")
    return Verdict(rewards=combined([step["rewards"] for step in told], strategy))


def _ignored(name: str) -> Issue:
    return Issue(
        severity="warning",
        phase="evaluate",
        code="reward_twice",
        message=f"test.sh wrote both forms of its reward; {name} was not read",
    )


def _not_binary(reward: float) -> Issue:
    return Issue(
        severity="warning",
        phase="evaluate",
        code="reward_not_binary",
        message=f"reward {reward:g} counts as not correct; the parameter metric=score keeps it",
    )
