"""The command line of agentcompass 1.0.1 with a benchmark of one model call a task.

Run by that package's own Python: `python agentcompass_cli.py run bench_calls openai_chat mock ...`.
"""

import json
import sys
from dataclasses import dataclass

from agentcompass.benchmarks.config import RuntimeBenchmarkConfig, config_field
from agentcompass.runtime import (
    BENCHMARKS,
    BaseBenchmark,
    BenchmarkPlan,
    PreparedTask,
    TaskInput,
    TaskOutput,
    TaskSpec,
    load_builtin_components,
)

from agentcompass.cli import main

load_builtin_components()


@dataclass(slots=True)
class OneCallConfig(RuntimeBenchmarkConfig):
    """Parameters of `bench_calls`."""

    count: int = config_field(default=1, description="How many tasks there are.")


@BENCHMARKS.register()
class OneCall(BaseBenchmark):
    """`count` questions, whose answer is right if it says DONE."""

    id = "bench_calls"
    description = "Tasks of one model call, to measure the engine with."
    config_class = OneCallConfig
    parallel_attempts_safe = True
    collect_artifacts = False

    def load_tasks(self, req):
        """The questions are those of `benchmarks/question.py`."""
        return [
            TaskSpec(
                task_id=f"t{number:06d}",
                question=f"Task {number}. Reply with DONE.",
                category="all",
                ground_truth="DONE",
            )
            for number in range(int(self.build_config(req).count))
        ]

    def build_plan(self, task, req, environment):
        """Nothing beside the defaults."""
        return BenchmarkPlan()

    async def prepare_task(self, task, env, req, plan):
        """The question as it is."""
        messages = [{"role": "user", "content": task.question}]
        return PreparedTask(
            task_id=task.task_id,
            category=task.category,
            ground_truth=task.ground_truth,
            input=TaskInput(prompt=json.dumps(messages)),
            output=TaskOutput(answer=""),
            metadata={},
        )

    async def evaluate(self, task, prepared, result, req, plan, env=None):
        """Compare the answer."""
        result.metrics = {"correct": str(result.final_answer or "").strip() == task.ground_truth}
        result.ground_truth = task.ground_truth
        return result


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
