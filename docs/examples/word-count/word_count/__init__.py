"""A benchmark as another package brings it: count the words of a text with the tools of a shell."""

import json
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import attrs

from agentcompass.errors import EvaluationFailed
from agentcompass.extending import CommonConfig, select
from agentcompass.protocols import Session
from agentcompass.records.metrics import MetricContract, binary_contract
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.task import PreparedTask, RunResult, TaskInput, TaskSpec

INSTRUCTION = "Write how many words text.txt has into count.txt, as a plain number."


@attrs.frozen(kw_only=True)
class WordCountConfig(CommonConfig):
    """`--benchmark-params`; each field is checked by its type, and shown by `config docs`."""

    tolerance: int = attrs.field(
        default=0,
        validator=attrs.validators.ge(0),
        metadata={"help": "How far off a count may be.", "unit": "words"},
    )


class WordCount:
    """Scored in the agent's own session: what is in count.txt decides."""

    id = "word_count"
    description = "Count the words of small texts."
    Config = WordCountConfig
    evaluation_mode = "reuse"
    evaluation_timeout_metrics: Mapping[str, bool | float] = {}
    replies: Path | None = None

    def __init__(self, config: WordCountConfig) -> None:
        self.config = config
        self.aggregation_mode = config.aggregation_mode
        self.category_hierarchy = config.category_hierarchy

    def load_tasks(self, data_dir: Path) -> Sequence[TaskSpec]:
        """Every row; one that is broken costs its own task only."""
        lines = resources.files(__package__).joinpath("rows.jsonl").read_text("utf-8").splitlines()
        tasks = (_task(number, line) for number, line in enumerate(lines, 1))
        return select(tasks, self.config.sample_ids)

    def metric_contract(self) -> MetricContract:
        """One metric, `correct`, true or false."""
        return binary_contract()

    async def prepare_task(
        self, task: TaskSpec, session: Session, plan: ExecutionPlan
    ) -> PreparedTask:
        """Put the text where the agent works."""
        await session.write("text.txt", task.metadata["text"].encode())
        return PreparedTask(task_id=task.task_id, input=TaskInput(prompt=task.instruction))

    async def prepare_evaluation(
        self,
        task: TaskSpec,
        prepared: PreparedTask,
        plan: ExecutionPlan,
        session: Session | None,
    ) -> None:
        """Scoring needs nothing that is not there."""

    async def evaluate(
        self,
        task: TaskSpec,
        prepared: PreparedTask,
        result: RunResult,
        plan: ExecutionPlan,
        session: Session | None,
    ) -> None:
        """Compare; a missing or odd answer is wrong, a session that cannot be read no verdict."""
        if session is None:
            raise EvaluationFailed("word_count is scored in the agent's session")
        try:
            answer = (await session.read("count.txt")).decode(errors="replace").strip()
        except FileNotFoundError:
            answer = ""
        result.final_answer = answer
        off_by = abs(int(answer) - task.ground_truth) if answer.isdecimal() else None
        result.metrics["correct"] = off_by is not None and off_by <= self.config.tolerance


def _task(number: int, line: str) -> TaskSpec:
    try:
        row: dict[str, Any] = json.loads(line)
        return TaskSpec(
            task_id=row["id"],
            instruction=INSTRUCTION,
            ground_truth=int(row["words"]),
            # What the harness `oracle` runs: the way to try a benchmark without a model.
            metadata={"text": row["text"], "solution_files": {"solve.sh": _SOLUTION}},
        )
    except (ValueError, KeyError, TypeError) as error:
        return TaskSpec(task_id=f"row-{number}", fault=f"rows.jsonl row {number}: {error!r}")


_SOLUTION = "wc -w < text.txt | tr -d ' ' > count.txt\n"
