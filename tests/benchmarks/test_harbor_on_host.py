"""The shipped tasks and the real environment `host_process` together, without the engine."""

from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agentcompass.benchmarks.starter import Starter
from agentcompass.benchmarks.task_directory import TaskDirectory
from agentcompass.deadlines import CleanupClock
from agentcompass.environments.host_process import HostProcess
from agentcompass.protocols import SessionRequest
from agentcompass.records.environment import EnvironmentPlan
from agentcompass.records.task import RunResult
from tests.benchmarks.local_session import a_plan, make_task

SOLVE = 'bash "$SOLUTION_DIR/solve.sh"'


@asynccontextmanager
async def a_session(task):
    environment = EnvironmentPlan(
        id="host_process", setup=task.setup, env_variables=task.env_variables
    )
    request = SessionRequest(
        plan=environment, run_id="r", task_id=task.task_id, attempt=1, cleanup=CleanupClock(30)
    )
    session = await HostProcess(HostProcess.Config()).open(request)
    try:
        yield session
    finally:
        await session.aclose()


async def verdict(benchmark, task, *, solve, mode="reuse"):
    """The metrics of one attempt whose agent runs the solution, or does nothing."""
    result, plan = RunResult(task_id=task.task_id), a_plan(evaluation_mode=mode)
    async with a_session(task) as session:
        prepared = await benchmark.prepare_task(task, session, plan)
        if solve:
            await session.upload(Path(task.metadata["solution_dir"]), "/solution")
            assert (await session.exec(SOLVE)).ok
        await benchmark.prepare_evaluation(task, prepared, plan, session)
        await benchmark.evaluate(task, prepared, result, plan, session)
    return result.metrics


@pytest.mark.parametrize("mode", ["reuse", "fresh"])
async def test_a_shipped_task_is_solved_by_its_solution_and_not_by_doing_nothing(mode):
    starter = Starter(Starter.Config(sample_ids=("scrub-git-history",)))
    (task,) = starter.load_tasks(Path("unused"))

    assert await verdict(starter, task, solve=True, mode=mode) == {"correct": True}
    assert await verdict(starter, task, solve=False, mode=mode) == {"correct": False}


async def test_variables_reach_solution_and_verifier(tmp_path):
    files = {
        "task.toml": '[environment]\nenv = {GREETING = "hi"}\n[verifier]\nenv = {WANTED = "hi"}',
        "solution/solve.sh": 'echo "$GREETING" > said',
        "tests/test.sh": """
            [ "$(cat said)" = "$WANTED" ] && [ "$GREETING" = hi ] && reward=1 || reward=0
            echo $reward > "${LOGS_DIR:-/logs}/verifier/reward.txt"
        """,
    }
    make_task(tmp_path / "t", files)
    benchmark = TaskDirectory(TaskDirectory.Config(path=str(tmp_path)))
    (task,) = benchmark.load_tasks(Path("unused"))

    assert await verdict(benchmark, task, solve=True) == {"correct": True}
