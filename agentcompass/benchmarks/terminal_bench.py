"""The family of Terminal-Bench 2: one loader, three data sets."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import attrs

from agentcompass.benchmarks._data_sets import (
    TERMINAL_BENCH_2,
    TERMINAL_BENCH_2_1,
    TERMINAL_BENCH_2_VERIFIED,
)
from agentcompass.benchmarks._harbor import HarborBenchmark, HarborConfig, tasks_below
from agentcompass.records.data_set import DataSet


@attrs.frozen(kw_only=True)
class TerminalBenchConfig(HarborConfig):
    """Where the tasks are, and how they are scored."""

    path: str | None = attrs.field(
        default=None,
        metadata={
            "help": "A folder of task folders to take instead of <data_dir>/<id>; null is the"
            " data set's own folder."
        },
    )
    download: bool = attrs.field(
        default=True, metadata={"help": "Whether a run may fetch the data set where it is missing."}
    )


class _TerminalBench(HarborBenchmark):
    """Loads from `data_dir / id`, unless the parameter `path` says otherwise."""

    id: ClassVar[str]
    Config: ClassVar[type[TerminalBenchConfig]] = TerminalBenchConfig
    data_set: DataSet | None

    def __init__(self, config: TerminalBenchConfig) -> None:
        super().__init__(config, None if config.path is None else Path(config.path).expanduser())
        if config.path is not None:
            self.data_set = None

    def folder(self, data_dir: Path) -> Path:
        """Where the tasks are."""
        return self.root or data_dir / self.id

    def check_data(self, directory: Path) -> Sequence[str]:
        """What each task in `directory` cannot be run for. Blocking.

        Raises `UsageError` where there are no tasks.
        """
        return [f"{task.task_id}: {task.fault}" for task in tasks_below(directory) if task.fault]


class TerminalBench2(_TerminalBench):
    """Version 2.0."""

    id: ClassVar[str] = "terminal_bench_2"
    description: ClassVar[str] = "Terminal-Bench 2.0: 89 tasks in a terminal"
    data_set: DataSet | None = TERMINAL_BENCH_2


class TerminalBench2Verified(_TerminalBench):
    """Version 2.0 with repaired images and instructions."""

    id: ClassVar[str] = "terminal_bench_2_verified"
    description: ClassVar[str] = "Terminal-Bench 2.0 with repaired images and instructions"
    data_set: DataSet | None = TERMINAL_BENCH_2_VERIFIED


class TerminalBench21(_TerminalBench):
    """Version 2.1."""

    id: ClassVar[str] = "terminal_bench_2_1"
    description: ClassVar[str] = "Terminal-Bench 2.1: the 89 tasks, 26 of them changed"
    data_set: DataSet | None = TERMINAL_BENCH_2_1
