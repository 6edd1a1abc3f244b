"""kill -9 at every step and at any moment: what was saved is there, once, and can be read."""

import json
import subprocess
import sys
from pathlib import Path

from agentcompass.progress.event_file import read_events
from agentcompass.store.layout import RunLayout, TaskLayout
from agentcompass.store.reading import StoredTask, read_checkpoint, read_run_info, read_tasks

CHILD = Path(__file__).with_name("crash_child.py")
ROOT = CHILD.parents[2]


def kill(folder: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "tests.store.crash_child", arguments[0], str(folder)]
    subprocess.run([*command, *arguments[1:]], check=True, cwd=ROOT)


def check(folder: Path) -> set[str]:
    """Hold what is on disk against what its writer knew to be saved; the kinds of what it knew."""
    acks = [line.split() for line in (folder / "acks").read_text().splitlines()]
    known = {kind: [rest for name, *rest in acks if name == kind] for kind, *_ in acks}
    runs = list(folder.glob("*/*/*"))
    assert len(runs) <= 1
    if not runs:
        assert not acks
        return set()
    check_records(runs[0])
    check_tasks(runs[0], known)
    check_progress(runs[0], known)
    if "finished" in known:
        assert read_run_info(runs[0]).status == "completed"
    return set(known)


def check_records(run: Path) -> None:
    """Fails when a file is written in place, or renamed before it is whole."""
    for path in run.rglob("*.json"):
        json.loads(path.read_bytes())
    if (run / "run_info.json").exists():
        read_run_info(run)


def check_tasks(run: Path, known: dict[str, list[list[str]]]) -> None:
    """Fails when a task is published before its last record, or kept in two states."""
    tasks = list(read_tasks(run))
    assert all(isinstance(task, StoredTask) for task in tasks), tasks
    found = {task.task_id: task for task in tasks if isinstance(task, StoredTask)}
    assert len(found) == len(tasks)
    for task in found.values():
        assert task.is_published == (task.state != "running")
        for number in task.attempts:
            read_checkpoint(TaskLayout(task.directory).attempt(number))
    for (task_id,) in known.get("published", []):
        assert found[task_id].is_published
    for task_id, number in known.get("attempt", []):
        assert found[task_id].attempts[int(number)] is not None
    for (task_id,) in known.get("evaluation", []):
        check_evaluation(found[task_id])


def check_evaluation(task: StoredTask) -> None:
    kept = [*task.directory.glob("attempt-1/checkpoint.json")]
    kept += task.directory.glob("attempt-1/retries/*/checkpoint.json")
    assert any("evaluation" in json.loads(path.read_bytes()) for path in kept)


def check_progress(run: Path, known: dict[str, list[list[str]]]) -> None:
    """Fails when flush returns before the sync, or the snapshot is ahead of the events."""
    layout = RunLayout(run)
    events = list(read_events(layout.events)) if layout.events.exists() else []
    started = [each.task_id for each in events if each.event == "task_started"]
    assert len(started) == len(set(started))
    assert {task_id for (task_id,) in known.get("started", [])} <= set(started)
    if layout.progress.exists():
        snapshot = json.loads(layout.progress.read_bytes())
        finished = [each for each in events if each.event == "task_finished"]
        assert snapshot["finished_tasks"] <= len(finished)


def test_killed_at_any_step_nothing_that_was_saved_is_lost(tmp_path: Path) -> None:
    kill(tmp_path, "steps")

    kinds = [check(folder) for folder in tmp_path.iterdir()]
    assert len(kinds) > 60
    assert {"started", "evaluation", "attempt", "published", "finished"} in kinds


def test_killed_at_any_moment_nothing_that_was_saved_is_lost(tmp_path: Path) -> None:
    kill(tmp_path, "moments", "20")

    kinds = [check(folder) for folder in tmp_path.iterdir()]
    assert len(kinds) == 20
    assert any("published" in known for known in kinds)
