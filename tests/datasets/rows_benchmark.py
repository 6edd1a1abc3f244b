"""A benchmark of another package on a public data set: each row is a task, solved as it says."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from agentcompass.errors import UsageError
from agentcompass.extending import CommonConfig, select
from agentcompass.records.data_set import DataSet
from agentcompass.records.metrics import MetricContract, binary_contract
from agentcompass.records.task import PreparedTask, TaskSpec
from tests.datasets.files import data_set


@attrs.frozen(kw_only=True)
class RowsConfig(CommonConfig):
    download: bool = True


class Rows:
    id = "rows"
    description = "Rows."
    Config = RowsConfig
    data_set: DataSet | None = data_set()
    evaluation_mode = "none"
    evaluation_timeout_metrics: Mapping[str, bool | float] = {}
    replies: Path | None = None

    def __init__(self, config: RowsConfig) -> None:
        self.config = config
        self.aggregation_mode = config.aggregation_mode
        self.category_hierarchy = config.category_hierarchy

    def load_tasks(self, data_dir: Path) -> Sequence[TaskSpec]:
        return select(_tasks(data_dir / "toys"), self.config.sample_ids)

    def metric_contract(self) -> MetricContract:
        return binary_contract()

    async def prepare_task(self, task: TaskSpec, session: Any, plan: Any) -> PreparedTask:
        return PreparedTask(task_id=task.task_id)

    async def prepare_evaluation(self, *_: Any) -> None: ...

    async def evaluate(
        self, task: TaskSpec, prepared: Any, result: Any, plan: Any, session: Any
    ) -> None:
        result.metrics["correct"] = task.metadata["correct"]


def _tasks(folder: Path) -> Iterator[TaskSpec]:
    file = folder / "rows.jsonl"
    try:
        lines = file.read_text("utf-8").splitlines()
    except FileNotFoundError as error:
        raise UsageError(f"no rows: looked for {file}") from error
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            correct = bool(row["correct"])
            yield TaskSpec(task_id=row["id"], metadata={"correct": correct})
        except (ValueError, KeyError) as error:
            fault = f"rows.jsonl row {number}: {type(error).__name__}: {error}"
            yield TaskSpec(task_id=f"row-{number}", fault=fault)


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The benchmark `rows`, found by its entry point for one test."""
    about = folder / "rows_benchmark-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: rows-benchmark\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[agentcompass.benchmarks]\nrows = tests.datasets.rows_benchmark:Rows\n"
    )
    monkeypatch.syspath_prepend(folder)
