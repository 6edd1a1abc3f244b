"""What a run on Docker leaves, however it ends: nothing, or what `env close` finds."""

import json
import signal
import time
from pathlib import Path

import pytest

from tests.cli.process import call, finish, start
from tests.docker_engine import BOOKWORM, NO_ENGINE, containers
from tests.whole_runs import write_tasks

pytestmark = [pytest.mark.docker, NO_ENGINE]

PHASES = ("open_environment", "prepare_task", "run_harness", "evaluate")
TASK = {
    "solution/solve.sh": 'echo > "${LOGS_DIR:-/logs}/artifacts/a"; exec sleep ${AT_WORK:-60}\n',
    "tests/test.sh": 'sleep ${AT_WORK:-60}; echo 1 > "${LOGS_DIR:-/logs}/verifier/reward.txt"\n',
}


def arguments(folder: Path, **more: str) -> list[str]:
    write_tasks(folder / "tasks", {"one": TASK, "two": TASK})
    params = {"image": BOOKWORM, "pull": "never", "env": more}
    return [
        *("run", "task_directory", "oracle", "none", "--env", "docker", "--progress", "plain"),
        *("--benchmark-params", json.dumps({"path": str(folder / "tasks")})),
        *("--env-params", json.dumps(params)),
    ]


def run_until(phase: str, folder: Path, *more: str, seconds: str = "60"):
    """A run that has come to `phase` in some task; what comes before it is short."""
    at_work = seconds if phase != "evaluate" else "0.2"
    options = arguments(folder, AT_WORK=at_work)
    if phase == "evaluate":
        options = arguments(folder)
        (folder / "tasks/one/solution/solve.sh").write_text("true\n")
        (folder / "tasks/two/solution/solve.sh").write_text("true\n")
    process = start(*options, *more, toys=folder, cwd=folder)
    ends_at = time.monotonic() + 60
    while not any(
        f'"{phase}"' in path.read_text() for path in folder.glob("results/*/*/progress.jsonl")
    ):
        assert time.monotonic() < ends_at, f"{phase} was not reached"
        assert process.poll() is None, finish(process).err
        time.sleep(0.02)
    return process


def of_run(folder: Path) -> list[str]:
    return [
        name
        for directory in folder.glob("results/*/*")
        for name in containers(directory=str(directory))
    ]


def journal(folder: Path) -> list[Path]:
    return sorted(folder.glob("results/*/*/.env-resources/*.json"))


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_no_container_and_no_entry(tmp_path, phase, number):
    process = run_until(phase, tmp_path)

    process.send_signal(number)
    ended = finish(process)

    assert ended.code == 128 + number, ended.err
    assert of_run(tmp_path) == []
    assert journal(tmp_path) == []


def test_a_request_timeout_leaves_no_container_and_no_entry(tmp_path):
    ended = call(*arguments(tmp_path), "--timeout-seconds", "3", toys=tmp_path, cwd=tmp_path)

    assert ended.code == 124, ended.err
    assert of_run(tmp_path) == []
    assert journal(tmp_path) == []


@pytest.mark.parametrize("phase", PHASES)
def test_what_kill_9_leaves_is_listed_and_closed(tmp_path, phase):
    process = run_until(phase, tmp_path)

    process.kill()
    finish(process)
    listed = call("env", "list", "results", toys=tmp_path, cwd=tmp_path)
    left = json.loads(listed.out)

    assert [entry["in_use"] for entry in left] == [False] * len(left)
    assert {f"agentcompass-{entry['id']}" for entry in left} >= set(of_run(tmp_path))

    closed = call("env", "close", "results", "--all", toys=tmp_path, cwd=tmp_path)

    assert closed.code == 0, closed.err
    time.sleep(0.5)  # what the engine was still creating when the run was killed
    call("env", "close", "results", "--all", toys=tmp_path, cwd=tmp_path)
    assert of_run(tmp_path) == []
    assert journal(tmp_path) == []


def test_a_killed_run_is_finished_by_reuse_once_its_containers_are_closed(tmp_path):
    process = run_until("run_harness", tmp_path)
    process.kill()
    finish(process)
    assert call("env", "close", "results", "--all", toys=tmp_path, cwd=tmp_path).code == 0

    ended = call(*arguments(tmp_path, AT_WORK="0"), "--reuse", toys=tmp_path, cwd=tmp_path)

    assert ended.code == 0, ended.err
    assert "2 of 2 tasks" in ended.err
    assert of_run(tmp_path) == []


def test_the_next_run_says_what_the_killed_one_left(tmp_path):
    process = run_until("run_harness", tmp_path)
    process.kill()
    finish(process)

    ended = call(*arguments(tmp_path, AT_WORK="0"), toys=tmp_path, cwd=tmp_path)

    assert ended.code == 0, ended.err
    assert "environments of earlier runs are still open" in ended.err
    assert call("env", "close", "results", "--all", toys=tmp_path, cwd=tmp_path).code == 0
    assert of_run(tmp_path) == []


def test_a_container_is_found_by_its_label_where_the_journal_is_lost(tmp_path):
    process = run_until("run_harness", tmp_path)
    process.kill()
    finish(process)
    for path in journal(tmp_path):
        path.unlink()

    closed = call("env", "close", "results", "--all", toys=tmp_path, cwd=tmp_path)

    assert closed.code == 0, closed.err
    assert of_run(tmp_path) == []


def test_what_a_live_run_uses_is_closed_by_its_id_only(tmp_path):
    process = run_until("run_harness", tmp_path)
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
