"""Tasks of one model call each: the least that every engine can be asked to do."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from agentcompass.protocols import Session
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.task import (
    EvaluationMode,
    PreparedTask,
    RunResult,
    TaskInput,
    TaskOutput,
    TaskSpec,
)
from benchmarks.question import question
from benchmarks.tiny import Tiny


class OneCall(Tiny):
    """`count` questions, whose answer is right if it says DONE; no command is run."""

    id: ClassVar[str] = "bench_calls"
    description: ClassVar[str] = "Tasks of one model call, to measure the engine with"
    evaluation_mode: ClassVar[EvaluationMode] = "none"

    def load_tasks(self, data_dir: Path) -> Sequence[TaskSpec]:
        """Made up on the spot; ids are of one length, so that every task writes as much."""
        return [
            TaskSpec(task_id=f"t{number:06d}", ground_truth="DONE", instruction=question(number))
            for number in range(self.config.count)
        ]

    async def prepare_task(
        self, task: TaskSpec, session: Session, plan: ExecutionPlan
    ) -> PreparedTask:
        """The question as it is."""
        return PreparedTask(
            task_id=task.task_id,
            ground_truth=task.ground_truth,
            input=TaskInput(prompt=task.instruction),
            output=TaskOutput(answer=""),
        )

    async def evaluate(
        self,
        task: TaskSpec,
        prepared: PreparedTask,
        result: RunResult,
        plan: ExecutionPlan,
        session: Session | None,
    ) -> None:
        """Compare the answer."""
        result.metrics["correct"] = result.final_answer == task.ground_truth
