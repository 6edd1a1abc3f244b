"""What a killed or kept run leaves on Docker is said, listed and closed."""

import json
import time
from pathlib import Path

import pytest

from tests.cli.process import call, finish, start
from tests.docker_engine import BOOKWORM, NO_ENGINE, containers
from tests.whole_runs import write_tasks

pytestmark = [pytest.mark.docker, NO_ENGINE]

TASKS = ("one", "two")
TASK = {
    "solution/solve.sh": 'echo > "${LOGS_DIR:-/logs}/artifacts/a"; exec sleep ${AT_WORK:-60}\n',
    "tests/test.sh": 'sleep ${AT_WORK:-60}; echo 1 > "${LOGS_DIR:-/logs}/verifier/reward.txt"\n',
}


def arguments(folder: Path, **more: str) -> list[str]:
    write_tasks(folder / "tasks", dict.fromkeys(TASKS, TASK))
    params = {"image": BOOKWORM, "pull": "never", "env": more}
    return [
        *("run", "task_directory", "oracle", "none", "--env", "docker", "--progress", "plain"),
        *("--benchmark-params", json.dumps({"path": str(folder / "tasks")})),
        *("--env-params", json.dumps(params)),
    ]


def run_at_work(folder: Path):
    """A run whose agents are at work in both tasks."""
    process = start(*arguments(folder, AT_WORK="60"), toys=folder, cwd=folder)
    ends_at = time.monotonic() + 60
    while sum(
        path.read_text().count('"run_harness"')
        for path in folder.glob("results/*/*/progress.jsonl")
    ) < len(TASKS):
        assert time.monotonic() < ends_at, "the agents are not at work"
        assert process.poll() is None, finish(process).err
        time.sleep(0.02)
    return process


def killed_run(folder: Path) -> None:
    process = run_at_work(folder)
    process.kill()
    finish(process)


def of_run(folder: Path) -> list[str]:
    return [
        name
        for directory in folder.glob("results/*/*")
        for name in containers(directory=str(directory))
    ]


def journal(folder: Path) -> list[Path]:
    return sorted(folder.glob("results/*/*/.env-resources/*.json"))


def test_the_next_run_says_what_the_killed_one_left_and_it_is_closed_where_the_folder_went(
    tmp_path,
):
    killed_run(tmp_path)
    left = of_run(tmp_path)

    ended = call(*arguments(tmp_path, AT_WORK="0"), toys=tmp_path, cwd=tmp_path)

    assert ended.code == 0, ended.err
    assert "2 environments of earlier runs are still open" in ended.err

    (tmp_path / "results").rename(tmp_path / "moved")
    assert len(left) == 2
    assert set(left) <= set(containers())
    assert call("env", "close", "moved", "--all", toys=tmp_path, cwd=tmp_path).code == 0
    assert set(left) & set(containers()) == set()
    assert list(tmp_path.glob("moved/*/*/.env-resources")) == []


def test_a_container_is_found_by_its_label_where_its_entry_is_lost_or_damaged(tmp_path):
    killed_run(tmp_path)
    lost, damaged = journal(tmp_path)
    lost.unlink()
    damaged.write_text(damaged.read_text()[:50])

    closed = call("env", "close", "results", "--all", toys=tmp_path, cwd=tmp_path)

    assert closed.code == 0, closed.err
    assert f"{damaged.name}: " in closed.err
    assert of_run(tmp_path) == []
    assert journal(tmp_path) == []


def test_what_an_earlier_boot_left_is_closed_with_everything_else(tmp_path):
    """Where the machine has an id: without one it cannot be told from another of its name."""
    killed_run(tmp_path)
    for path in journal(tmp_path):
        entry = json.loads(path.read_text())
        host, pid, started = entry["owner"].split("/")
        machine, _, namespace, ticks = started.split(".")
        entry["owner"] = f"{host}/{pid}/{machine}.00000000.{namespace}.{ticks}"
        path.write_text(json.dumps(entry))
    closed = call("env", "close", "results", "--all", toys=tmp_path, cwd=tmp_path)

    if not machine:
        assert "cannot be known" in closed.err
        ids = [f"--id={path.stem}" for path in journal(tmp_path)]
        closed = call("env", "close", "results", *ids, toys=tmp_path, cwd=tmp_path)
    assert closed.code == 0, closed.err
    assert of_run(tmp_path) == []


def test_what_a_live_run_uses_is_closed_by_its_id_only(tmp_path):
    process = run_at_work(tmp_path)
    before = of_run(tmp_path)

    closed = call("env", "close", "results", "--all", toys=tmp_path, cwd=tmp_path)

    assert closed.code == 1
    assert "its run is at work" in closed.err
    assert of_run(tmp_path) == before
    process.terminate()
    finish(process)


def test_kept_environments_are_listed_and_their_processes_are_gone(tmp_path):
    ended = call(
        *arguments(tmp_path, AT_WORK="0"), "--keep-environment", toys=tmp_path, cwd=tmp_path
    )
    left = json.loads(call("env", "list", "results", toys=tmp_path, cwd=tmp_path).out)

    assert ended.code == 0, ended.err
    assert [(entry["state"], entry["in_use"]) for entry in left] == [("active", False)] * 2
    assert len(of_run(tmp_path)) == 2

    one = call("env", "close", "results", "--id", left[0]["id"], toys=tmp_path, cwd=tmp_path)

    assert one.code == 0, one.err
    assert len(of_run(tmp_path)) == 1
    assert call("env", "close", "results", "--all", toys=tmp_path, cwd=tmp_path).code == 0
    assert of_run(tmp_path) == []


@pytest.mark.parametrize(("options", "told"), [((), "--all"), (("--id", "x"), "is not open here")])
def test_a_wrong_use_of_env_close_is_one_line(tmp_path, options, told):
    (tmp_path / "results").mkdir()

    ended = call("env", "close", "results", *options, toys=tmp_path, cwd=tmp_path)

    assert ended.code == 2
    assert told in ended.err
