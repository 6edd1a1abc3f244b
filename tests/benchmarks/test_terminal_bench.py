"""The family of Terminal-Bench: three data sets, one loader, every part of the format on docker."""

import json
from pathlib import Path

import attrs
import pytest
import trio

from agentcompass import async_run_evaluation
from agentcompass.benchmarks.terminal_bench import TerminalBench2, TerminalBench21
from agentcompass.errors import UsageError
from agentcompass.registry import load
from tests.benchmarks.harbor_tasks import TASKS, write
from tests.benchmarks.local_session import REWARD, make_task
from tests.cli.process import start
from tests.datasets.test_git_tree import git
from tests.docker_engine import NO_ENGINE

FAMILY = ("terminal_bench_2", "terminal_bench_2_1", "terminal_bench_2_verified")
KEY = "a-key-of-this-host"


def made(benchmark_id, **params):
    kind = load("benchmark", benchmark_id)
    return kind(kind.Config(**params))


@pytest.mark.parametrize("name", FAMILY)
def test_each_loads_its_own_folder_of_the_data_directory(tmp_path, name):
    make_task(tmp_path / name / "fix-git", {})

    benchmark = made(name)

    assert [task.task_id for task in benchmark.load_tasks(tmp_path)] == ["fix-git"]
    assert benchmark.data_set.id == benchmark.id == name


def test_they_are_fetched_from_different_commits():
    assert len({made(name).data_set.checksum for name in FAMILY}) == len(FAMILY)


def test_a_folder_that_the_user_names_stands_for_the_data_set(tmp_path):
    make_task(tmp_path / "mine" / "t", {})

    benchmark = made("terminal_bench_2", path=str(tmp_path / "mine"))

    assert benchmark.data_set is None
    assert [task.task_id for task in benchmark.load_tasks(tmp_path / "unused")] == ["t"]


def test_a_folder_without_tasks_is_refused_by_its_path(tmp_path):
    with pytest.raises(UsageError, match=f"{tmp_path}/terminal_bench_2 cannot be read"):
        made("terminal_bench_2").load_tasks(tmp_path)


def test_the_check_of_the_data_names_each_task_that_cannot_be_run(tmp_path):
    write(tmp_path)

    (fault,) = TerminalBench2(TerminalBench2.Config()).check_data(tmp_path)[:1]

    assert fault.startswith("composed: not supported: environment/docker-compose.yaml (a task")


async def test_a_run_fetches_its_tasks_at_their_commit(tmp_path, monkeypatch):
    """From a repository on this machine, which has them in a folder as that of 2.1 has."""
    files = {
        "solution/solve.sh": "touch done",
        "tests/test.sh": "test -e done && " + REWARD.format(1),
    }
    make_task(tmp_path / "origin" / "tasks" / "t", files)
    git(tmp_path / "origin", "init", "--quiet")
    git(tmp_path / "origin", "add", ".")
    git(tmp_path / "origin", "commit", "--quiet", "-m", "tasks")
    commit = git(tmp_path / "origin", "rev-parse", "HEAD")
    tree = attrs.evolve(TerminalBench21.data_set.source, url=f"{tmp_path}/origin", commit=commit)
    data_set = attrs.evolve(TerminalBench21.data_set, source=tree)
    monkeypatch.setattr(TerminalBench21, "data_set", data_set)

    result = await async_run_evaluation(
        benchmark="terminal_bench_2_1",
        harness="oracle",
        model="none",
        environment="host_process",
        results_dir=str(tmp_path / "results"),
        data_dir=str(tmp_path / "data"),
        progress="none",
    )

    about = json.loads((Path(result["paths"]["output_dir"]) / "run_info.json").read_text())
    assert f"commit:{commit}" in json.dumps(about)
    assert [path.name for path in (tmp_path / "data/terminal_bench_2_1").glob("[!.]*")] == ["t"]
    assert result["metadata"]["status"] == "completed"


async def ran(folder: Path, harness: str) -> dict[str, dict]:
    """The result of each task, run by the command line on docker."""
    process = start(
        *("run", "terminal_bench_2", harness, "none", "--env", "docker"),
        *("--task-concurrency", "5", "--results-dir", f"results-{harness}"),
        toys=folder,
        cwd=folder,
        JUDGE_API_KEY=KEY,
    )
    _, said = await trio.to_thread.run_sync(process.communicate)
    assert process.returncode == 1, said
    results = folder.glob(f"results-{harness}/*/*/details/*/*/attempt-1/result.json")
    return {
        json.loads((path.parent.parent / "task.json").read_text())["task_id"]: json.loads(
            path.read_text()
        )
        for path in results
    }


@pytest.mark.docker
@NO_ENGINE
async def test_every_part_of_the_format_runs_on_docker(tmp_path):
    """What is not to be had is refused by name; the solution scores 1.0, doing nothing 0.0."""
    write(tmp_path / "data" / "terminal_bench_2")
    found = {}

    async def keep(harness):
        found[harness] = await ran(tmp_path, harness)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(keep, "oracle")
        nursery.start_soon(keep, "nop")

    runnable = sorted(set(TASKS) - {"composed"})
    for harness, correct in (("oracle", True), ("nop", False)):
        metrics = {name: found[harness][name]["metrics"] for name in runnable}
        assert metrics == {name: {"correct": correct} for name in runnable}
        (refused,) = found[harness]["composed"]["issues"]
        assert (refused["severity"], refused["code"]) == ("fatal", "task_invalid")
        assert "environment/docker-compose.yaml" in refused["message"]
    solved = found["oracle"]
    assert all(solved[name]["issues"] == [] for name in runnable)
    assert solved["built"]["meta"]["benchmark"]["rewards"] == {"reward": 1.0, "style": 0.5}
    assert [step["name"] for step in solved["steps"]["meta"]["benchmark"]["steps"]] == [
        "begin",
        "go-on",
    ]
    kept = {path.name for path in tmp_path.glob("results-oracle/*/*/details/**/artifacts/**/*")}
    assert {"answer", "kept", "where", "two"} <= kept
    assert "a.tmp" not in kept
    written = [path for path in tmp_path.glob("results-*/**/*") if path.is_file()]
    assert not [path for path in written if KEY.encode() in path.read_bytes()]
