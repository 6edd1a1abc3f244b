"""Whole runs: task folders through the SDK, or a job on the real store; and what they left."""

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import attrs

from agentcompass import async_run_evaluation
from agentcompass.engine.job import Job
from agentcompass.errors import RequestError
from agentcompass.store.location import run_location
from agentcompass.store.runs import open_run
from tests.benchmarks.local_session import make_task
from tests.loopback import Act, answer

MARKER = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


@attrs.define
class Ran:
    """A run that has ended; `raised` is the error with which it did."""

    result: Mapping[str, Any]
    raised: RequestError | None = None

    @property
    def directory(self) -> Path:
        return Path(self.result["paths"]["output_dir"])

    @property
    def status(self) -> str:
        return self.result["metadata"]["status"]

    @cached_property
    def attempts(self) -> dict[str, Any]:
        """The result.json of the first attempt of each task, by task id."""
        return {
            read(path.parent.parent / "task.json")["task_id"]: read(path)
            for path in self.directory.glob("details/*/*/attempt-1/result.json")
        }

    def issues(self, task_id: str) -> list[tuple[str, str, str]]:
        found = self.attempts[task_id]["issues"]
        return [(issue["severity"], issue["phase"], issue["code"]) for issue in found]


def read(path: Path) -> Any:
    """The JSON in a file, which has to be UTF-8."""
    return json.loads(path.read_text(encoding="utf-8"))


def write_tasks(root: Path, tasks: Mapping[str, Mapping[str, str]]) -> Path:
    """A folder of tasks by name, each with its files over the least that a task has."""
    for name, files in tasks.items():
        make_task(root / name, {"solution/solve.sh": "true\n", **files})
    return root


async def run(
    folder: Path, tasks: Mapping[str, Mapping[str, str]], harness: str = "oracle", **settings: Any
) -> Ran:
    """Run these tasks in `folder`; a failed or timed out run is an outcome too."""
    path = str(write_tasks(folder / "tasks", tasks))
    given = {
        "model": "none",
        "environment": "host_process",
        "results_dir": str(folder / "results"),
        "benchmark_params": {"path": path},
        "progress": "none",
        **settings,
    }
    try:
        return Ran(await async_run_evaluation(benchmark="task_directory", harness=harness, **given))
    except RequestError as error:
        return Ran(error.result, error)


def on_disk(job: Job, folder: Path, **store: Any) -> Job:
    """The job with a real run directory below `folder`; `store` are options of `open_run`."""
    location = run_location(folder, job.request)
    options: dict[str, Any] = {"request": job.request, "redactor": job.redactor, **store}
    return attrs.evolve(job, open_store=lambda clock: open_run(location, cleanup=clock, **options))


def runs(command: str) -> Act:
    """A model's reply that calls the tool with `command`."""
    function = {"name": "bash", "arguments": json.dumps({"command": command})}
    calls = [{"id": "c", "type": "function", "function": function}]
    message = {"content": None, "tool_calls": calls}
    return answer({"choices": [{"message": message, "finish_reason": "tool_calls"}]})


def submits(command: str = "echo done") -> Act:
    """A model's reply that ends the task, with what `command` prints as the answer."""
    return runs(f"echo {MARKER}; {command}")
