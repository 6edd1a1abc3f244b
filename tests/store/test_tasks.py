"""The files of tasks, step by step, and that no step that fails loses what was there."""

import json
from pathlib import Path
from typing import Any

import attrs
import pytest

from agentcompass.errors import StoreError
from agentcompass.records.artifacts import ArtifactEntry, ArtifactManifest
from agentcompass.records.atif import AtifAgent
from agentcompass.records.attempt import TaskHeader
from agentcompass.records.convert import unstructure
from agentcompass.records.task import RunResult
from agentcompass.store.atomic import Disk, read_record
from agentcompass.store.layout import RunLayout, task_folder
from agentcompass.store.reading import StoredTask, read_checkpoint, read_tasks
from agentcompass.store.redact import MASK, Redactor
from tests import atif_schema
from tests.store.disks import FaultyDisk, QuickDisk
from tests.store.examples import (
    FATAL,
    HEADER,
    HEADER_3,
    KEY,
    TASK_ID,
    SavedTasks,
    checkpoint,
    manifest,
    result,
    retry,
    with_manifest,
)

RUNNING = f"details/running/{task_folder(TASK_ID)}/attempt-1"


def files(folder: Path, disk: Disk | None = None, agent: AtifAgent | None = None) -> SavedTasks:
    return SavedTasks(RunLayout(folder), Redactor({KEY}), disk or QuickDisk(), agent)


def tree(folder: Path) -> list[str]:
    """The files below the task folders, without the long names of these."""
    paths = [path.relative_to(folder / "details") for path in folder.rglob("*") if path.is_file()]
    return sorted("/".join((path.parts[0], *path.parts[2:])) for path in paths)


def read(folder: Path, name: str, state: str = "normal") -> Any:
    return read_record(folder / "details" / state / task_folder(TASK_ID) / name)


def stored(folder: Path) -> list[StoredTask]:
    tasks = list(read_tasks(folder))
    assert all(isinstance(task, StoredTask) for task in tasks), tasks
    return tasks  # type: ignore[return-value]


def test_a_task_of_one_attempt_is_written_in_one_go(tmp_path: Path) -> None:
    files(tmp_path).save_task(HEADER, {1: result()}, "")

    assert tree(tmp_path) == [
        "normal/attempt-1/checkpoint.json",
        "normal/attempt-1/result.json",
        "normal/task.json",
    ]
    assert read(tmp_path, "task.json") == {
        "schema_version": "agentcompass.task.v3",
        "task_id": TASK_ID,
        "attempts": {"1": "attempt-1"},
        "category": "default",
        "ground_truth": "42",
        "attempt_plan": {"k": 1, "strategy": "avg"},
    }
    assert read(tmp_path, "attempt-1/result.json") == {
        "status": "completed",
        "metrics": {"correct": True},
        "final_answer": "42",
        "trajectory": {},
        "issues": [],
        "artifacts": {},
        "analysis_result": {},
        "meta": {"benchmark": {"note": "é"}, "harness": {"telemetry": {"steps": 1}}},
        "retry_count": 0,
    }
    assert read(tmp_path, "attempt-1/checkpoint.json") == {
        "schema_version": "agentcompass.attempt_checkpoint.v1"
    }


@pytest.mark.parametrize(
    ("severity", "state"),
    [("", "normal"), ("warning", "normal"), ("error", "error"), ("fatal", "fatal")],
)
def test_a_task_goes_to_the_state_of_its_severity(
    tmp_path: Path, severity: str, state: str
) -> None:
    files(tmp_path).save_task(HEADER, {1: result()}, severity)

    (task,) = stored(tmp_path)
    assert task.state == state
    assert task.is_published


def test_attempts_are_kept_one_by_one_and_published_together(tmp_path: Path) -> None:
    store = files(tmp_path)
    store.save_attempt(HEADER_3, 1, result(correct=False))
    assert read(tmp_path, "task.json", "running") == {
        "schema_version": "agentcompass.task.v3",
        "task_id": TASK_ID,
        "attempts": {"1": "attempt-1"},
    }
    assert read(tmp_path, "attempt-1/checkpoint.json", "running")["scheduler"] == {
        "schema_version": "agentcompass.logical_attempt.v2",
        "task_id": TASK_ID,
        "attempt_index": 1,
        "status": "completed",
        "stop_requested": False,
        "retries": 0,
        "error": None,
        "result_path": "result.json",
    }
    (task,) = stored(tmp_path)
    assert not task.is_published
    assert task.attempts[1] == result(correct=False, meta=task.attempts[1].meta)  # type: ignore[union-attr]

    store.save_attempt(HEADER_3, 2, result(retry_count=1))
    scheduler = read(tmp_path, "attempt-2/checkpoint.json", "running")["scheduler"]
    assert (scheduler["stop_requested"], scheduler["retries"]) == (True, 1)
    store.publish(HEADER_3, "")

    (task,) = stored(tmp_path)
    assert task.is_published
    assert sorted(task.attempts) == [1, 2]
    for number in (1, 2):
        assert "scheduler" not in read(tmp_path, f"attempt-{number}/checkpoint.json")


def test_a_fatal_attempt_has_failed(tmp_path: Path) -> None:
    files(tmp_path).save_attempt(HEADER_3, 1, result(correct=None, issues=(FATAL,)))

    assert read(tmp_path, "attempt-1/checkpoint.json", "running")["scheduler"]["status"] == "failed"


def test_an_interrupted_attempt_is_told_from_one_that_never_began(tmp_path: Path) -> None:
    files(tmp_path).save_interrupted(HEADER, 1, phase="run_harness", retries=2)

    (task,) = stored(tmp_path)
    assert task.attempts == {1: None}
    scheduler = read(tmp_path, "attempt-1/checkpoint.json", "running")["scheduler"]
    assert scheduler["status"] == "failed"
    assert scheduler["error"] == "interrupted in phase run_harness"
    assert scheduler["retries"] == 2
    assert scheduler["value"] is None


def test_the_agents_work_survives_what_comes_after_it(tmp_path: Path) -> None:
    store = files(tmp_path)
    store.save_evaluation(HEADER_3, checkpoint(artifacts=manifest(RUNNING)))
    before = read(tmp_path, "attempt-1/checkpoint.json", "running")["evaluation"]
    store.save_attempt(HEADER_3, 1, result())
    store.publish(HEADER_3, "error")

    record = read(tmp_path, "attempt-1/checkpoint.json", "error")
    assert list(record) == ["schema_version", "evaluation"]
    moved = record["evaluation"]["artifacts"].pop("directory")
    assert before["artifacts"].pop("directory") == f"{RUNNING}/artifacts"
    assert moved == f"{RUNNING}/artifacts".replace("running", "error")
    assert record["evaluation"] == before
    attempt = RunLayout(tmp_path).task(TASK_ID, "error").attempt(1)
    found = read_checkpoint(attempt)
    assert found is not None
    assert found.evaluation is not None
    assert found.evaluation.run_result == checkpoint().run_result


def test_a_checkpoint_without_artifacts_has_an_empty_manifest(tmp_path: Path) -> None:
    files(tmp_path).save_evaluation(HEADER, checkpoint())

    section = read(tmp_path, "attempt-1/checkpoint.json", "running")["evaluation"]
    assert section["artifacts"] == {
        "schema_version": 1,
        "directory": f"{RUNNING}/artifacts",
        "complete": True,
        "entries": [],
    }


@pytest.mark.parametrize("in_one_go", [True, False])
def test_references_follow_the_move_and_nothing_else_changes(
    tmp_path: Path, in_one_go: bool
) -> None:
    """Fails when the text of a trajectory is replaced, or an artifact is touched."""
    store = files(tmp_path)
    artifact = tmp_path / RUNNING / "artifacts" / "app" / "out.json"
    artifact.parent.mkdir(parents=True)
    content = json.dumps({"directory": f"{RUNNING}/artifacts"}, indent=2)
    artifact.write_text(content)
    if in_one_go:
        store.save_task(HEADER, {1: with_manifest(RUNNING)}, "fatal")
    else:
        store.save_attempt(HEADER, 1, with_manifest(RUNNING))
        store.publish(HEADER, "fatal")

    record = read(tmp_path, "attempt-1/result.json", "fatal")
    final = RUNNING.replace("running", "fatal")
    assert record["artifacts"]["declared_artifacts"]["directory"] == f"{final}/artifacts"
    assert (tmp_path / final / "artifacts").is_dir()
    assert record["trajectory"]["steps"] == [f'{{"directory": "{RUNNING}/artifacts"}}']
    assert (tmp_path / final / "artifacts" / "app" / "out.json").read_text() == content


def test_what_a_retry_discards_is_kept_as_evidence(tmp_path: Path) -> None:
    store = files(tmp_path)
    path = store.save_retry(retry())
    (tmp_path / RUNNING / "artifacts").mkdir()
    (tmp_path / RUNNING / "artifacts" / "old.txt").touch()
    store.save_evaluation(HEADER, checkpoint(artifacts=manifest(RUNNING)))
    store.set_aside(TASK_ID, 1)

    assert path.startswith(f"{RUNNING}/retries/{task_folder(TASK_ID)}.attempt1.retry1.run_harness")
    discarded = read_record(tmp_path / path)
    assert discarded["schema_version"] == "agentcompass.retry.v1"
    assert discarded["matched_pattern"] == "fatal"
    assert KEY not in json.dumps(discarded)
    (aside,) = [entry for entry in (tmp_path / RUNNING / "retries").iterdir() if entry.is_dir()]
    assert sorted(entry.name for entry in aside.iterdir()) == ["artifacts", "checkpoint.json"]
    assert not (tmp_path / RUNNING / "artifacts").exists()

    store.save_task(HEADER, {1: result(retry_count=1)}, "")
    evidence = aside.relative_to(tmp_path).as_posix().replace("running", "normal")
    record = read_record(tmp_path / evidence / "checkpoint.json")
    assert record["evaluation"]["artifacts"]["directory"] == f"{evidence}/artifacts"
    assert (tmp_path / evidence / "artifacts" / "old.txt").exists()
    (task,) = stored(tmp_path)
    assert task.is_published


def test_what_was_scored_again_is_published_with_its_evidence(tmp_path: Path) -> None:
    """Fails where a task is taken for one that has the agent's work and nothing else."""
    store = files(tmp_path)
    store.save_evaluation(HEADER, checkpoint(artifacts=manifest(RUNNING)))
    kept = {"declared_artifacts": unstructure(manifest(RUNNING))}
    discarded = RunResult(task_id=TASK_ID, artifacts=kept)
    path = store.save_retry(retry(scope="evaluate", discarded_result=discarded))
    store.save_task(HEADER, {1: result(retry_count=1)}, "")

    moved = path.replace("running", "normal")
    assert f"{RUNNING}/artifacts".replace("running", "normal") in (tmp_path / moved).read_text()


def test_a_task_that_was_kept_before_it_was_scored_gets_its_index_once(tmp_path: Path) -> None:
    disk = FaultyDisk(where="task.json")
    store = files(tmp_path, disk)
    store.save_evaluation(HEADER, checkpoint(artifacts=manifest(RUNNING)))
    store.save_task(HEADER, {1: result()}, "")

    assert disk.steps == ["write", "sync", "rename"]
    (task,) = stored(tmp_path)
    assert task.is_published
    section = read(tmp_path, "attempt-1/checkpoint.json")["evaluation"]
    assert section["artifacts"]["directory"] == f"{RUNNING}/artifacts".replace("running", "normal")


def test_setting_aside_nothing_leaves_nothing(tmp_path: Path) -> None:
    store = files(tmp_path)
    store.save_retry(retry())
    before = tree(tmp_path)
    store.set_aside(TASK_ID, 1)

    assert tree(tmp_path) == before


def test_a_published_task_is_never_overwritten(tmp_path: Path) -> None:
    store = files(tmp_path)
    store.save_task(HEADER, {1: result()}, "")

    with pytest.raises(StoreError, match=r"details/normal/ok_2--.*: Directory not empty"):
        store.save_task(HEADER, {1: result(correct=False)}, "")

    assert read(tmp_path, "attempt-1/result.json")["metrics"] == {"correct": True}


def test_a_value_that_has_no_form_is_named_and_costs_nothing_else(tmp_path: Path) -> None:
    store = files(tmp_path)
    store.save_evaluation(HEADER, checkpoint())
    store.save_task(HEADER, {1: result(trajectory={"steps": [object(), 1]})}, "")
    saved = read(tmp_path, "attempt-1/result.json")

    assert saved["trajectory"]["steps"][1] == 1
    assert saved["metrics"] == {"correct": True}
    assert "trajectory.steps.0: a value of type object" in saved["issues"][0]["message"]


def test_secrets_are_masked_where_they_may_stand_and_nowhere_else(tmp_path: Path) -> None:
    header = TaskHeader(task_id=TASK_ID, ground_truth={"password": "hunter2", "key": KEY})
    secretive = result(
        final_answer={"password": "my own", "said": KEY},
        trajectory={"steps": [{"env": {"HOME": "/", "K": KEY}, "sort_key": "a", "apiKey": "b"}]},
        issues=(FATAL,),
        artifacts={"execution_diagnostics": f"Traceback: {KEY}", "raw_result": {"token": "t"}},
        meta={"benchmark": {"secret": "s"}, "harness": {"telemetry": {"prompt_tokens": 3}}},
    )
    files(tmp_path).save_task(header, {1: secretive}, "fatal")

    assert read(tmp_path, "task.json", "fatal")["ground_truth"] == {
        "password": "hunter2",
        "key": MASK,
    }
    record = read(tmp_path, "attempt-1/result.json", "fatal")
    assert record["final_answer"] == {"password": "my own", "said": MASK}
    assert record["trajectory"]["steps"] == [
        {"env": {"HOME": "/", "K": MASK}, "sort_key": "a", "apiKey": MASK}
    ]
    assert record["issues"][0]["message"] == f"HTTP 401: key {MASK}"
    assert record["artifacts"] == {
        "execution_diagnostics": f"Traceback: {MASK}",
        "raw_result": {"token": MASK},
    }
    assert record["meta"] == {
        "benchmark": {"secret": MASK},
        "harness": {"telemetry": {"prompt_tokens": 3}},
    }


def _steps_of(store_work: Any, folder: Path) -> int:
    folder.mkdir()
    disk = FaultyDisk()
    store_work(files(folder, disk))
    return len(disk.steps)


def _whole_life(store: SavedTasks) -> None:
    store.save_evaluation(HEADER_3, checkpoint(artifacts=manifest(RUNNING)))
    store.save_retry(retry())
    store.set_aside(TASK_ID, 1)
    store.save_evaluation(HEADER_3, checkpoint(artifacts=manifest(RUNNING)))
    store.save_attempt(HEADER_3, 1, result(correct=False))
    store.save_attempt(HEADER_3, 2, with_manifest(RUNNING.replace("attempt-1", "attempt-2")))
    store.publish(HEADER_3, "error")


def test_whatever_step_fails_what_was_kept_can_be_read(tmp_path: Path) -> None:
    """Fails when a record is written in place, or a result is removed before its successor."""
    steps = _steps_of(_whole_life, tmp_path / "whole")
    assert steps > 30

    for step in range(1, steps + 1):
        folder = tmp_path / str(step)
        folder.mkdir()
        with pytest.raises(StoreError, match="No space left"):
            _whole_life(files(folder, FaultyDisk(step)))
        for path in folder.rglob("*.json"):
            read_record(path)
        assert not list(folder.rglob("*.tmp"))
        assert len(stored(folder)) <= 1


def test_a_task_that_could_not_be_published_can_be_read_where_it_is(tmp_path: Path) -> None:
    store = files(tmp_path, FaultyDisk(1, times=99, where="details/normal"))
    with pytest.raises(StoreError):
        store.save_task(HEADER, {1: result()}, "")

    (task,) = stored(tmp_path)
    assert task.state == "running"
    assert not task.is_published
    assert task.attempts[1] is not None


STEP = {"step_id": 0, "assistant_content": {"content": f"the key is {KEY}"}}
ATIF = "attempt-1/artifacts/trajectory.atif.json"


def test_a_trajectory_is_also_among_the_artifacts_in_atif_without_secrets(tmp_path: Path) -> None:
    agent = AtifAgent(name="mini_swe_agent", version="1", session_id="run")
    run = files(tmp_path, agent=agent)
    run.save_task(HEADER, {1: attrs.evolve(result(), trajectory={"steps": [STEP]})}, "")

    document = read(tmp_path, ATIF)
    atif_schema.check(document)
    assert document["steps"][0]["message"] == f"the key is {MASK}"
    assert document["session_id"] == f"run/{task_folder(TASK_ID)}/attempt-1"


@pytest.mark.parametrize("destination", [".", "trajectory.atif.json"])
def test_an_artifact_in_the_place_of_the_atif_file_stays(tmp_path: Path, destination: str) -> None:
    entry = ArtifactEntry(source="/x", destination=destination)
    taken = ArtifactManifest(directory="d", complete=True, entries=(entry,))
    artifacts = {"declared_artifacts": unstructure(taken)}
    run = files(tmp_path, agent=AtifAgent(name="a", version="1"))
    done = attrs.evolve(result(), trajectory={"steps": [STEP]}, artifacts=artifacts)
    run.save_task(HEADER, {1: done}, "")

    assert not (tmp_path / "details/normal" / task_folder(TASK_ID) / ATIF).exists()
