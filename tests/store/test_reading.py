"""Run directories as they are found: ours, the peer's habits, earlier layouts, damaged ones."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from agentcompass.errors import RecordCorrupt, SchemaUnsupported, StoreError
from agentcompass.records.attempt import TaskHeader
from agentcompass.records.request import AttemptPlan
from agentcompass.store.atomic import Disk
from agentcompass.store.layout import RunLayout, TaskLayout, task_folder
from agentcompass.store.reading import (
    StoredTask,
    UnreadableTask,
    read_checkpoint,
    read_run_info,
    read_tasks,
)
from agentcompass.store.redact import Redactor
from tests.store.examples import HEADER_3, TASK_ID, SavedTasks, checkpoint, result
from tests.store.test_documents import FIXTURES, provenance


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with one task of each state."""
    files = SavedTasks(RunLayout(tmp_path), Redactor(), Disk())
    files.save_task(TaskHeader(task_id="good"), {1: result()}, "")
    files.save_task(TaskHeader(task_id="faulty"), {1: result()}, "error")
    files.save_task(TaskHeader(task_id="void"), {1: result()}, "fatal")
    files.save_evaluation(HEADER_3, checkpoint())
    files.save_attempt(HEADER_3, 1, result())
    (tmp_path / "run_info.json").write_bytes(b"".join(provenance().snapshot().pieces()))
    return tmp_path


def change(path: Path, **fields: Any) -> None:
    record = json.loads(path.read_text())
    record.update(fields)
    path.write_text(json.dumps({key: value for key, value in record.items() if value != "absent"}))


def attempt_of(run: Path, task_id: str, state: Any = "normal") -> Path:
    return RunLayout(run).task(task_id, state).attempt(1).directory


def by_id(run: Path) -> dict[str, StoredTask | UnreadableTask]:
    return {
        task.task_id if isinstance(task, StoredTask) else task.directory.name.split("--")[0]: task
        for task in read_tasks(run)
    }


def test_run_info_comes_back(run: Path) -> None:
    info = read_run_info(run)

    assert info.run_id == "r1"
    assert info.task_ids == (TASK_ID,)
    assert info.task_categories == {TASK_ID: "default"}
    assert info.metric_basis is not None
    assert info.metric_basis.contract.primary == "correct"
    assert info.resolved_execution_plans is not None
    assert info.metric_artifacts is not None
    assert info.request["execution"]["attempts"] == {"k": 3, "strategy": "pass"}


def test_every_task_comes_with_its_state_and_results(run: Path) -> None:
    tasks = by_id(run)

    assert {name: task.state for name, task in tasks.items()} == {  # type: ignore[union-attr]
        "good": "normal",
        "faulty": "error",
        "void": "fatal",
        TASK_ID: "running",
    }
    assert [name for name, task in tasks.items() if not task.is_published] == [TASK_ID]  # type: ignore[union-attr]
    good, running = tasks["good"], tasks[TASK_ID]
    assert isinstance(good, StoredTask)
    assert isinstance(running, StoredTask)
    assert good.header == TaskHeader(task_id="good")
    assert good.attempts[1] is not None
    assert good.attempts[1].metrics == {"correct": True}
    assert running.header is None
    assert running.attempts[1] is not None


def test_an_earlier_run_is_read_where_it_lies() -> None:
    earlier = FIXTURES / "earlier"
    info = read_run_info(earlier)
    (task,) = read_tasks(earlier)

    assert info.schema_version == "agentcompass.run_info.v2"
    assert isinstance(task, StoredTask)
    assert task.state is None
    assert task.is_published
    assert task.header == TaskHeader(task_id="old", attempt_plan=AttemptPlan())
    with pytest.raises(SchemaUnsupported, match=r"evaluation_checkpoint\.v3"):
        read_checkpoint(TaskLayout(task.directory).attempt(1))


def test_nulls_of_the_peer_are_read_as_what_is_empty(run: Path) -> None:
    attempt = RunLayout(run).task(TASK_ID, "running").attempt(1)
    record = json.loads(attempt.checkpoint.read_text())
    record["evaluation"]["run_result"].update(trajectory=None, meta=None, ground_truth=None)
    attempt.checkpoint.write_text(json.dumps(record))

    found = read_checkpoint(attempt)
    assert found is not None
    assert found.evaluation is not None
    assert found.evaluation.run_result.trajectory == {}
    assert found.evaluation.prepared_task.input.prompt == "What is 6 x 7?"
    assert found.scheduler is not None
    assert found.scheduler.result_path == "result.json"


def test_without_a_checkpoint_there_is_none(run: Path) -> None:
    attempt = RunLayout(run).task("good", "normal").attempt(1)
    attempt.checkpoint.unlink()

    assert read_checkpoint(attempt) is None


DAMAGE: dict[str, tuple[str, dict[str, Any] | bytes, str]] = {
    "torn task": ("../task.json", b'{"schema_version": "agentco', "not readable as JSON"),
    "empty task": ("../task.json", b"", "not readable as JSON"),
    "task is a list": ("../task.json", b"[]", "expected an object"),
    "future schema": ("../task.json", {"schema_version": "agentcompass.task.v9"}, "task.v9"),
    "other folder": ("../task.json", {"attempts": {"1": "../../x"}}, "is not its folder"),
    "odd number": ("../task.json", {"attempts": {"one": "attempt-1"}}, "is not its folder"),
    "odd digits": ("../task.json", {"attempts": {"9" * 5000: "attempt-1"}}, "is not its folder"),
    "bad plan": ("../task.json", {"attempt_plan": {"k": 0, "strategy": "avg"}}, "attempt_plan"),
    "torn result": ("result.json", b'{"status": ', "not readable as JSON"),
    "unknown field": ("result.json", {"verdict": 1}, "missing or unknown: verdict"),
    "missing field": ("result.json", {"metrics": "absent"}, "missing or unknown: metrics"),
    "wrong type": ("result.json", {"retry_count": "0"}, "retry_count: expected an integer"),
    "unknown status": ("result.json", {"status": "fine"}, "status"),
    "not finite": ("result.json", b'{"metrics": {"score": NaN}}', "NaN is not a number"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_one_damaged_task_is_named_and_the_others_are_read(run: Path, kind: str) -> None:
    name, damage, fault = DAMAGE[kind]
    path = (attempt_of(run, "good") / name).resolve()
    if isinstance(damage, bytes):
        path.write_bytes(damage)
    else:
        change(path, **damage)

    tasks = by_id(run)
    found = tasks.pop("good")
    assert isinstance(found, UnreadableTask)
    assert fault in found.fault
    assert path.name in found.fault
    assert len(tasks) == 3
    assert all(isinstance(task, StoredTask) for task in tasks.values())


def test_a_task_without_its_index_is_named_unless_nothing_was_saved_yet(run: Path) -> None:
    (attempt_of(run, "good").parent / "task.json").unlink()
    RunLayout(run).task("begun", "running").attempt(1).artifacts.mkdir(parents=True)

    tasks = by_id(run)
    assert isinstance(tasks["good"], UnreadableTask)
    assert "begun" not in tasks


def test_an_attempt_of_which_only_retries_are_counted_has_no_result(run: Path) -> None:
    (attempt_of(run, "good") / "result.json").write_text('{"retry_count": 2}')

    good = by_id(run)["good"]
    assert isinstance(good, StoredTask)
    assert good.attempts == {1: None}
    assert not good.is_published


def test_a_task_in_two_states_is_believed_in_neither(run: Path) -> None:
    source = attempt_of(run, "good").parent
    shutil.copytree(source, run / "details" / "fatal" / source.name)

    found = [task for task in read_tasks(run) if task.directory.name == task_folder("good")]
    assert len(found) == 2
    assert all(
        "in several states" in task.fault for task in found if isinstance(task, UnreadableTask)
    )


def test_links_are_not_followed(run: Path) -> None:
    attempt = attempt_of(run, "good")
    elsewhere = run / "elsewhere"
    attempt.rename(elsewhere)
    attempt.symlink_to(elsewhere)

    good = by_id(run)["good"]
    assert isinstance(good, UnreadableTask)
    assert "is a link" in good.fault


@pytest.mark.parametrize(
    ("damage", "error", "fault"),
    [
        (None, StoreError, "is not a run directory: it has no run_info.json"),
        (b"{", RecordCorrupt, "not readable as JSON"),
        (b"[]", RecordCorrupt, "expected an object"),
        (b"{}", SchemaUnsupported, "None is not known; known: agentcompass.run_info.v3"),
        ({"schema_version": "agentcompass.run_info.v4"}, SchemaUnsupported, "run_info.v4"),
        ({"run_id": 5}, RecordCorrupt, "run_id: expected text, got int 5"),
        ({"request": []}, RecordCorrupt, "request: expected an object"),
    ],
)
def test_a_run_info_that_is_none_says_why(
    run: Path, damage: Any, error: type[Exception], fault: str
) -> None:
    path = run / "run_info.json"
    if damage is None:
        path.unlink()
    elif isinstance(damage, bytes):
        path.write_bytes(damage)
    else:
        change(path, **damage)

    with pytest.raises(error) as caught:
        read_run_info(run)
    assert type(caught.value) is error
    assert fault in str(caught.value)


def test_a_folder_without_tasks_has_none(tmp_path: Path) -> None:
    assert list(read_tasks(tmp_path)) == []
