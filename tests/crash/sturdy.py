"""A benchmark and a harness whose outcomes are fixed, and whose every execution is noted.

The notes are outside the run directory, in the file that $NOTES names; a line is there once it is
written: a kill loses nothing of what the kernel has.
"""

import os
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, get_args

import attrs

from agentcompass.errors import EvaluationFailed, HarnessFailed
from agentcompass.protocols import AgentContext, Session
from agentcompass.records.issue import Issue
from agentcompass.records.metrics import MetricContract, binary_contract
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.request import Aggregation
from agentcompass.records.task import (
    ArtifactSpec,
    EvaluationMode,
    PreparedTask,
    RunResult,
    TaskSpec,
)
from agentcompass.store.layout import task_folder

# The agent or the scorer fails at first, has an ERROR of its own, gives no verdict, or never works.
KINDS = ("good", "flaky", "shaky", "error", "unscored", "fatal")
WORK = "/app/made/out.txt"

_tries: Counter[tuple[str, str]] = Counter()


def note(what: str, attempt: str) -> bool:
    """Note what was done to an attempt; whether it was the first time in this process."""
    file = os.open(os.environ["NOTES"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{os.environ['LIFE']} {what} {attempt}\n".encode())
    os.close(file)
    _tries[what, attempt] += 1
    return _tries[what, attempt] == 1


def folders() -> Mapping[str, str]:
    """The task of each folder name."""
    ids = map("/".join, product(KINDS, get_args(EvaluationMode)))
    return {task_folder(task_id): task_id for task_id in ids}


def is_solved(attempt: str) -> bool:
    """What scoring this attempt finds, whenever and wherever it is scored."""
    return zlib.crc32(attempt.encode()) % 2 == 0


def task_spec(kind: str, mode: EvaluationMode) -> TaskSpec:
    artifacts = (ArtifactSpec(source=WORK),) if mode == "fresh" else ()
    return TaskSpec(
        task_id=f"{kind}/{mode}", category=kind, evaluation_mode=mode, artifacts=artifacts
    )


@attrs.frozen(kw_only=True)
class NoParameters:
    """There is nothing to choose."""


class Sturdy:
    """A task of every kind in every evaluation mode; what the agent made is what is scored."""

    id: ClassVar[str] = "sturdy"
    description: ClassVar[str] = "for the crash harness"
    Config: ClassVar[type[Any]] = NoParameters
    evaluation_mode: EvaluationMode = "none"
    evaluation_timeout_metrics: Mapping[str, bool | float] = {}
    replies: Path | None = None
    aggregation_mode: Aggregation = "micro_weighted"
    category_hierarchy: Mapping[str, Any] | None = None

    def __init__(self, config: NoParameters) -> None:
        self.config = config

    def load_tasks(self, data_dir: Path) -> Sequence[TaskSpec]:
        return [task_spec(kind, mode) for kind, mode in product(KINDS, get_args(EvaluationMode))]

    def metric_contract(self) -> MetricContract:
        return binary_contract()

    async def prepare_task(
        self, task: TaskSpec, session: Session, plan: ExecutionPlan
    ) -> PreparedTask:
        return PreparedTask(task_id=task.task_id, metadata={"mode": plan.evaluation_mode})

    async def prepare_evaluation(
        self, task: TaskSpec, prepared: PreparedTask, plan: ExecutionPlan, session: Session | None
    ) -> None: ...

    async def evaluate(
        self,
        task: TaskSpec,
        prepared: PreparedTask,
        result: RunResult,
        plan: ExecutionPlan,
        session: Session | None,
    ) -> None:
        attempt = result.final_answer
        is_first = note("score", attempt)
        work = attempt if session is None else (await session.read(WORK)).decode()
        if work != attempt:
            raise EvaluationFailed(f"scored the work of {work}", severity="fatal")
        if task.category == "unscored" or (task.category == "shaky" and is_first):
            severity = "error" if task.category == "unscored" else "fatal"
            raise EvaluationFailed("no verdict", severity=severity)
        result.metrics["correct"] = is_solved(attempt)


class SturdyHarness:
    """Leaves a file and an answer that say which attempt made them."""

    id: ClassVar[str] = "sturdy"
    description: ClassVar[str] = "for the crash harness"
    Config: ClassVar[type[Any]] = NoParameters
    needs_model: ClassVar[bool] = False
    protocols: ClassVar[Sequence[str]] = ()
    default_run_timeout_seconds: ClassVar[float | None] = None

    def __init__(self, config: NoParameters) -> None:
        self.config = config

    @asynccontextmanager
    async def start(self, session: Session, context: AgentContext) -> AsyncIterator["SturdyAgent"]:
        yield SturdyAgent(session=session, context=context)


@attrs.frozen(kw_only=True, eq=False)
class SturdyAgent:
    session: Session
    context: AgentContext

    async def run(self, result: RunResult) -> None:
        kind = self.context.task.category
        attempt = f"{self.context.task.task_id}#{self.context.attempt}"
        is_first = note("agent", attempt)
        await self.session.write(WORK, attempt.encode())
        result.final_answer = attempt
        result.trajectory = {"steps": [{"said": attempt * 50}]}
        if kind == "fatal" or (kind == "flaky" and is_first):
            raise HarnessFailed("the agent broke")
        if kind == "error":
            result.add_issue(
                Issue(severity="error", phase="run", code="run_failed", message="out of steps")
            )

    async def collect(self, result: RunResult) -> None: ...
