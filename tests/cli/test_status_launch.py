"""`agentcompass status` on the results folder of a launch."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from asyncclick.testing import CliRunner, Result

from agentcompass.cli.app import commands
from agentcompass.progress.watched_launch import WatchedLaunch, watched
from agentcompass.store.owner import this_process


def write_run(results: Path, name: str, index: int, *, launch: str = "l1", **info: Any) -> Path:
    """A run with one task, begun 100 s ago, that has finished unless its process is named."""
    run_dir = results / name / launch
    run_dir.mkdir(parents=True)
    place = {"orchestration_id": launch, "request_name": name, "request_index": index}
    record = {"run_id": launch, "request": {"metadata": place if launch else {}}, **info}
    (run_dir / "run_info.json").write_text(json.dumps(record))
    began = time.time() - 100
    events = [
        {"event": "run_started", "payload": {"benchmark": "b", "harness": "h", "model": "m"}},
        {"event": "tasks_loaded", "payload": {"total_tasks": 2}},
        {"event": "task_started", "task_id": "t"},
        {"event": "task_finished", "task_id": "t", "status": "completed"},
    ]
    lines = [json.dumps({"run_id": launch, "timestamp": began + 1, **event}) for event in events]
    (run_dir / "progress.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return run_dir


async def invoke(*arguments: str) -> Result:
    return await CliRunner().invoke(commands, ["status", *arguments])


async def test_each_request_that_has_begun_has_a_row_in_their_order(tmp_path: Path) -> None:
    """Only those of the latest launch, beside runs of others."""
    older = write_run(tmp_path, "z", 0, launch="l0", status="failed")
    os.utime(older / "run_info.json", (1, 1))
    write_run(tmp_path, "z", 0, status="completed")
    write_run(tmp_path, "a", 1, owner=this_process())
    ended = await invoke(str(tmp_path))

    rows = [line.split() for line in ended.stdout.splitlines()]
    assert ended.exit_code == 0, ended.output
    assert rows[0] == [
        "Request",
        "State",
        "Finished",
        "Running",
        "Failed",
        "Time",
        "Run",
        "directory",
    ]
    assert [row[:6] for row in rows[1:]] == [
        ["z", "completed", "1", "of", "2", "0"],
        ["a", "running", "1", "of", "2", "0"],
    ]
    assert rows[1][-1] == str(tmp_path / "z" / "l1")


@pytest.mark.parametrize("index", [None, "x", [1]])
async def test_a_damaged_run_of_another_launch_is_passed_over(tmp_path: Path, index: Any) -> None:
    write_run(tmp_path, "other", index, launch="")
    write_run(tmp_path, "damaged", index, status="completed")
    write_run(tmp_path, "a", 0, status="completed")

    found = json.loads((await invoke(str(tmp_path), "--format", "json")).stdout)

    assert list(found["requests"]) == ["a", "damaged"]


async def test_as_json_it_has_the_facts_of_each_run(tmp_path: Path) -> None:
    write_run(tmp_path, "a", 0, status="completed")
    found = json.loads((await invoke(str(tmp_path), "--format", "json")).stdout)

    assert found["orchestration_id"] == "l1"
    assert found["requests"]["a"]["state"] == "completed"
    assert found["requests"]["a"]["tasks"]["finished"] == 1


@pytest.mark.parametrize(
    ("states", "code"),
    [
        (("completed", "completed"), 0),
        (("failed", "completed"), 1),
        (("failed", "timed_out"), 124),
        (("cancelled", "timed_out"), 130),
    ],
)
async def test_followed_to_the_end_the_exit_code_is_that_of_the_gravest(
    tmp_path: Path, states: tuple[str, str], code: int
) -> None:
    for index, state in enumerate(states):
        write_run(tmp_path, f"r{index}", index, status=state)

    assert (await invoke(str(tmp_path), "--follow")).exit_code == code


def test_a_request_that_begins_later_is_found(tmp_path: Path) -> None:
    write_run(tmp_path, "a", 0, status="completed")
    launch = watched(tmp_path)
    assert isinstance(launch, WatchedLaunch)
    assert list(launch.runs) == ["a"]
    write_run(tmp_path, "b", 1)
    write_run(tmp_path, "c", 2, launch="another")
    (tmp_path / "d" / "l1").mkdir(parents=True)
    (tmp_path / "d" / "l1" / "run_info.json").write_text("no JSON")
    launch.look()

    assert list(launch.runs) == ["a", "b"]


async def test_a_results_folder_whose_latest_run_is_of_no_launch_is_refused(tmp_path: Path) -> None:
    run_dir = write_run(tmp_path, "a", 0, status="completed")
    (run_dir / "run_info.json").write_text(json.dumps({"status": "completed"}))
    ended = await invoke(str(tmp_path))

    assert ended.exit_code == 2
    assert f"the latest run in it is {run_dir}" in ended.stderr
