"""`agentcompass status`: what it says, how it follows, and how it ends."""

import json
import signal
import tempfile
import time
from pathlib import Path

import pytest
from asyncclick.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcompass.cli.app import commands
from agentcompass.cli.run_state import facts, in_words
from agentcompass.progress.board import _FOLDS
from agentcompass.progress.plain import PlainLines
from agentcompass.progress.watched import watched_run
from agentcompass.store.layout import RunLayout
from agentcompass.store.owner import this_process
from tests.cli.process import finish, start, wait_for

STARTED = {
    "event": "run_started",
    "payload": {"benchmark": "b", "harness": "h", "model": "m", "environment": "e"},
}


def task(number, event="task_finished", **fields):
    return {"event": event, "task_id": f"t{number}", **fields}


@pytest.fixture
def run_dir(tmp_path):
    """Writes a run directory: 100 seconds old, an event each second."""

    def make(*events, **info):
        began = time.time() - 100.5
        (tmp_path / "run_info.json").write_text(json.dumps({"run_id": "r", **info}))
        lines = [
            json.dumps({"run_id": "r", "timestamp": began + n, **event})
            for n, event in enumerate((STARTED, *events))
        ]
        (tmp_path / "progress.jsonl").write_text("".join(f"{line}\n" for line in lines))
        return str(tmp_path)

    return make


async def invoke(*arguments):
    return await CliRunner().invoke(commands, ["status", *arguments])


RUNNING = (
    {"event": "tasks_loaded", "payload": {"total_tasks": 8}},
    *(task(n, "task_started") for n in range(5)),
    task(0, status="completed"),
    task(1, status="completed", payload={"severity": "error"}),
    task(2, status="failed"),
    task(3, "phase_changed", attempt=2, phase="run_harness"),
)


async def test_a_run_is_told_in_words(run_dir):
    ended = await invoke(run_dir(*RUNNING, owner=this_process()))

    lines = ended.stdout.splitlines()
    assert ended.exit_code == 0
    assert lines[0] == "b / h / m on e: running"
    assert lines[1] == "Tasks: 3 of 8 finished, 2 running, 3 waiting, 1 failed, 1 with errors"
    assert lines[2].startswith("Time: 1 min 4")
    assert " about 2 min 4" in lines[2]
    assert "last event phase_changed 1 min 3" in lines[2]
    assert [line.split()[:3] for line in lines[4:]] == [
        ["Task", "Attempt", "Phase"],
        ["t3", "2", "run_harness"],
        ["t4", "starting", "1"],
    ]


async def test_a_run_is_told_as_json(run_dir):
    where = run_dir(*RUNNING, owner=this_process())
    found = json.loads((await invoke(where, "--format", "json")).stdout)

    assert found["state"] == "running"
    assert found["alive"] is True
    assert found["tasks"] == {
        "total": 8,
        "finished": 3,
        "running": 2,
        "waiting": 3,
        "reused": 0,
        "failed": 1,
        "with_errors": 1,
        "skipped": 0,
    }
    assert [each["task_id"] for each in found["running"]] == ["t3", "t4"]
    assert found["running"][0]["phase_seconds"] < found["running"][0]["seconds"]
    assert found["faults"] == []


async def test_nothing_is_guessed_from_too_few_tasks(run_dir):
    where = run_dir(*RUNNING[:7], owner=this_process())

    assert json.loads((await invoke(where, "--format", "json")).stdout)["seconds_left"] is None


async def test_a_damaged_file_is_named_and_the_rest_is_told(run_dir, tmp_path):
    where = run_dir(*RUNNING, task(4, status="completed"))
    (tmp_path / "run_info.json").write_text("{")
    with (tmp_path / "progress.jsonl").open("a") as file:
        file.write("{\nnonsense\n" + '{"event": "half')

    ended = await invoke(where)

    assert ended.exit_code == 0
    assert "b / h / m on e: unknown" in ended.stdout
    assert "Tasks: 4 of 8 finished" in ended.stdout
    assert "progress.jsonl: 2 lines cannot be read and were passed over" in ended.stdout
    assert "run_info.json: not readable as JSON" in ended.stdout


@pytest.mark.parametrize(
    ("status", "code"),
    [("completed", 0), ("failed", 1), ("timed_out", 124), ("cancelled", 130)],
)
async def test_to_follow_a_run_that_is_over_ends_as_the_run_did(run_dir, status, code):
    where = run_dir(status=status, error="why")

    told, followed = await invoke(where), await invoke(where, "--follow")

    assert told.exit_code == 0
    assert told.stdout.splitlines()[:2] == [
        f"b / h / m on e: {status.replace('_', ' ')}",
        "Why: why",
    ]
    assert followed.exit_code == code
    assert followed.stdout.count("b / h / m on e") == 1


async def test_what_is_no_run_is_one_line(tmp_path):
    ended = await invoke(str(tmp_path))

    assert ended.exit_code == 2
    assert ended.stderr.endswith("is not a run directory: it has no run_info.json\n")


JUNK = st.none() | st.booleans() | st.floats() | st.text(max_size=3) | st.just([]) | st.just({})


@settings(deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"event": st.sampled_from([*_FOLDS, "other"]), "timestamp": st.floats() | JUNK},
            optional={
                "task_id": st.sampled_from(["t", "\n\x1b", None, 5]),
                "status": st.sampled_from(["completed", "failed", "odd"]) | JUNK,
                "phase": JUNK,
                "attempt": st.integers(),
                "payload": st.dictionaries(
                    st.sampled_from(["severity", "value", "issue", "total_tasks", "error"]), JUNK
                ),
            },
        ),
        max_size=6,
    ),
    st.sampled_from(["{}", "[]", "", '{"status": "failed", "error": 5}']),
)
def test_whatever_the_files_hold_something_is_told(events, info):
    """Fails if a time stamp beyond all years is shown as a date."""
    with tempfile.TemporaryDirectory() as folder:
        layout = RunLayout(Path(folder))
        layout.run_info.write_text(info)
        layout.events.write_text("".join(json.dumps({"run_id": "r", **e}) + "\n" for e in events))
        run = watched_run(layout.directory)
        lines = PlainLines(run.board)
        for event in run.read():
            lines.line(event, event.timestamp)

        found = facts(run)

        assert json.loads(json.dumps(found)) == found
        assert in_words(found, layout.directory)


def make_task(folder, seconds):
    for name, text in {
        "task.toml": 'version = "1.0"\n',
        "instruction.md": "Do it.\n",
        "solution/solve.sh": f"sleep {seconds}\n",
        "tests/test.sh": "exit 0\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def test_a_real_run_is_followed_until_it_is_killed(toys, tmp_path):
    make_task(tmp_path / "tasks" / "slow", 60)
    params = ("--benchmark-params", '{"path": "tasks"}', "--run-id", "r")
    where = tmp_path / "results" / "m_task_directory_oracle" / "r"
    running = start("run", "task_directory", "oracle", "m", *params, toys=toys, cwd=tmp_path)
    wait_for(where / "progress.jsonl")
    following = start("status", str(where), "--follow", toys=toys, cwd=tmp_path)
    first = following.stdout.readline().decode()
    running.kill()
    running.communicate()
    ended = finish(following)

    assert first == "task_directory / oracle / m on host_process: running\n"
    assert ended.code == 1
    assert "task_directory / oracle / m on host_process: stale\n" in ended.out
    assert "has written no end; its command with --reuse goes on from it" in ended.out


def test_what_changes_is_printed_until_the_run_ends(run_dir, toys, tmp_path):
    where = run_dir({"event": "tasks_loaded", "payload": {"total_tasks": 1}}, owner=this_process())
    following = start("status", where, "--follow", toys=toys, cwd=tmp_path)
    assert following.stdout.readline() == b"b / h / m on e: running\n"
    with (tmp_path / "progress.jsonl").open("a") as file:
        for event in (task(0, status="completed"), {"event": "run_finished", "status": "failed"}):
            file.write(json.dumps({"run_id": "r", "timestamp": time.time(), **event}) + "\n")
    ended = finish(following)

    assert ended.code == 1
    assert "[1/1] t0: completed\nfailed after 1 min 4" in ended.out
    assert ended.out.count("b / h / m on e: failed\n") == 1


def test_as_json_each_change_is_one_line(run_dir, toys, tmp_path):
    where = run_dir(owner=this_process())
    following = start("status", where, "--follow", "--format", "json", toys=toys, cwd=tmp_path)
    first = following.stdout.readline()
    (tmp_path / "run_info.json").write_text('{"status": "timed_out"}')
    ended = finish(following)

    assert ended.code == 124
    states = [json.loads(line)["state"] for line in [first, *ended.out.splitlines()]]
    assert states == ["running", "timed_out"]


def test_a_reader_that_goes_away_ends_the_following(run_dir, toys, tmp_path):
    where = run_dir(owner=this_process())
    following = start("status", where, "--follow", "--format", "json", toys=toys, cwd=tmp_path)
    assert following.stdout.readline()
    following.stdout.close()
    with (tmp_path / "progress.jsonl").open("a") as file:
        file.write(json.dumps({"run_id": "r", "timestamp": time.time(), **task(0)}) + "\n")

    assert following.wait(timeout=30) == 0
    following.stderr.close()


def test_ctrl_c_ends_only_the_following(run_dir, toys, tmp_path):
    following = start("status", run_dir(), "--follow", toys=toys, cwd=tmp_path)
    assert b"unknown" in following.stdout.readline()
    following.send_signal(signal.SIGINT)
    ended = finish(following)

    assert ended.code == 130
    assert "Traceback" not in ended.err
