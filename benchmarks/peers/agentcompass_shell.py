"""The command line of agentcompass 1.0.1 with tasks that run a command; for the peer's own Python.

BENCH_COMMAND=true BENCH_TIMES=50 python agentcompass_shell.py run bench_shell bench_shell mock
"""

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from agentcompass.benchmarks.config import RuntimeBenchmarkConfig, config_field
from agentcompass.runtime import (
    BENCHMARKS,
    HARNESSES,
    BaseBenchmark,
    BaseHarness,
    BenchmarkPlan,
    HarnessPlan,
    PreparedTask,
    RunResult,
    TaskInput,
    TaskOutput,
    TaskSpec,
    TaskStatus,
    load_builtin_components,
)
from agentcompass.runtime.config import RuntimeHarnessConfig

load_builtin_components()


@dataclass(slots=True)
class TasksConfig(RuntimeBenchmarkConfig):
    """How many tasks there are."""

    count: int = config_field(default=1, description="Number of tasks.")


@BENCHMARKS.register()
class Tasks(BaseBenchmark):
    """Tasks without data, each of which is solved by running to its end."""

    id = "bench_shell"
    description = "Tasks that cost nothing"
    config_class = TasksConfig
    parallel_attempts_safe = True
    collect_artifacts = False

    def load_tasks(self, req):
        """Made up on the spot; notes when, since the deadline has begun by then."""
        Path("began").write_text(str(time.time()))
        count = int(self.build_config(req).count)
        plain = {"question": "-", "category": "all", "ground_truth": "0"}
        return [TaskSpec(task_id=f"t{number:06d}", **plain) for number in range(count)]

    def build_plan(self, task, req, environment):
        """Nothing of its own."""
        return BenchmarkPlan()

    async def prepare_task(self, task, env, req, plan):
        """Nothing to lay out."""
        return PreparedTask(
            task_id=task.task_id,
            category=task.category,
            ground_truth=task.ground_truth,
            input=TaskInput(prompt="-"),
            output=TaskOutput(answer=""),
            metadata={},
        )

    async def evaluate(self, task, prepared, result, req, plan, env=None):
        """Solved if the commands ended well."""
        result.metrics = {"correct": result.final_answer == task.ground_truth}
        return result


@dataclass(slots=True)
class ShellConfig(RuntimeHarnessConfig):
    """No parameters."""


@dataclass(slots=True)
class ShellPlan(HarnessPlan):
    """Nothing planned."""


@HARNESSES.register()
class Shell(BaseHarness):
    """Runs $BENCH_COMMAND in the environment, $BENCH_TIMES times."""

    id = "bench_shell"
    description = "Runs one command a number of times"
    config_class = ShellConfig
    plan_class = ShellPlan
    parallel_attempts_safe = True

    def supports(self, environment, model):
        """Anywhere."""
        return True

    async def start_session(self, env, req, plan):
        """The environment is all it needs."""
        return env

    async def run_task(self, session, prepared, req, plan):
        """Every time anew, to its end."""
        code = 0
        for _ in range(int(os.environ.get("BENCH_TIMES", "1"))):
            ended = await session.exec(os.environ["BENCH_COMMAND"], shell=True)  # noqa: S604 (meant)
            code = code or ended.returncode
        return RunResult(
            task_id=prepared.task_id, status=TaskStatus.COMPLETED, final_answer=str(code)
        )


if __name__ == "__main__":
    from agentcompass.cli import main

    raise SystemExit(main(sys.argv[1:]))
