"""Tasks that cost nothing: what a run of them costs is the engine's own price."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import attrs

from agentcompass.protocols import Session
from agentcompass.records.metrics import MetricContract, binary_contract
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.request import Aggregation
from agentcompass.records.task import EvaluationMode, PreparedTask, RunResult, TaskSpec


@attrs.frozen(kw_only=True)
class TinyConfig:
    """Parameters of `bench_tiny`."""

    count: int = attrs.field(
        default=1,
        validator=attrs.validators.ge(0),
        metadata={"help": "How many tasks there are.", "unit": "number"},
    )


class Tiny:
    """`count` tasks, each scored by one command in the agent's session."""

    id: ClassVar[str] = "bench_tiny"
    description: ClassVar[str] = "Tasks that cost nothing, to measure the engine with"
    Config: ClassVar[type[Any]] = TinyConfig
    evaluation_mode: ClassVar[EvaluationMode] = "reuse"
    evaluation_timeout_metrics: ClassVar[dict[str, bool | float]] = {}
    replies: ClassVar[Path | None] = None
    aggregation_mode: ClassVar[Aggregation] = "micro_weighted"
    category_hierarchy: ClassVar[dict[str, Any] | None] = None

    def __init__(self, config: TinyConfig) -> None:
        self.config = config

    def load_tasks(self, data_dir: Path) -> Sequence[TaskSpec]:
        """Made up on the spot; ids are of one length, so that every task writes as much."""
        return [TaskSpec(task_id=f"task-{number:06d}") for number in range(self.config.count)]

    def metric_contract(self) -> MetricContract:
        """Solved or not."""
        return binary_contract()

    async def prepare_task(
        self, task: TaskSpec, session: Session, plan: ExecutionPlan
    ) -> PreparedTask:
        """Nothing to lay out."""
        return PreparedTask(task_id=task.task_id)

    async def prepare_evaluation(
        self, task: TaskSpec, prepared: PreparedTask, plan: ExecutionPlan, session: Session | None
    ) -> None:
        """Nothing to lay out."""

    async def evaluate(
        self,
        task: TaskSpec,
        prepared: PreparedTask,
        result: RunResult,
        plan: ExecutionPlan,
        session: Session | None,
    ) -> None:
        """The one command of the task."""
        assert session is not None, "mode reuse has the agent's session"
        result.metrics["correct"] = (await session.exec("true")).ok
