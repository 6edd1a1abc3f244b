"""Every persisted schema as it is written, byte for byte, against the files in fixtures/store."""

import json
from pathlib import Path

import pytest

from agentcompass.progress.event_file import EventFile
from agentcompass.progress.tracker import Tracker
from agentcompass.records.checkpoint import LogicalAttempt
from agentcompass.records.metrics import binary_contract
from agentcompass.records.progress import ProgressEvent
from agentcompass.records.run_info import MetricArtifacts, MetricBasis, declared
from agentcompass.store.atomic import Disk
from agentcompass.store.documents import (
    checkpoint_document,
    evaluation_document,
    index_document,
    published_document,
    result_document,
    retry_document,
    scheduler_document,
    without_empty,
)
from agentcompass.store.encode import encode
from agentcompass.store.provenance import Provenance, request_document
from agentcompass.store.redact import MASK, Redactor
from tests.store.examples import (
    FATAL,
    HEADER,
    HEADER_3,
    KEY,
    REQUEST,
    TASK_ID,
    checkpoint,
    manifest,
    result,
    retry,
    with_manifest,
)

FIXTURES = Path(__file__).parents[2] / "fixtures" / "store"
ATTEMPT = "details/normal/ok_2--ea08/attempt-1"
redactor = Redactor({KEY})


def provenance() -> Provenance:
    filled = Provenance("r1", request_document(REQUEST, "r1", redactor), redactor)
    filled.started_at = "2026-11-29T14:09:21+00:00"
    plan = {"environment": {"id": "host_process"}, "evaluation_environment": None}
    filled.add_plan(TASK_ID, 1, plan)
    report = {"k": 3, "strategy": "pass", "aggregation": "micro_weighted"}
    filled.set(
        task_ids=[TASK_ID],
        task_categories={TASK_ID: "default"},
        metric_basis=MetricBasis(metrics=declared(binary_contract())),
        metric_artifacts=MetricArtifacts(generated_at="2026-11-29T14:09:26+00:00", report=report),
        status="failed",
        finished_at="2026-11-29T14:09:27+00:00",
        error="Final FATAL issues; results: runs/r1",
    )
    return filled


def events() -> list[ProgressEvent]:
    task = {"task_id": TASK_ID, "category": "default"}
    rows = [
        ("run_started", 0.0, {"payload": {"model": "org/m", "benchmark": "toy"}}),
        ("tasks_loaded", 0.5, {"payload": {"total_tasks": 2}}),
        ("task_started", 1.0, {**task, "payload": {"index": 0, "total": 2}}),
        ("attempt_started", 1.0, {**task, "attempt": 1}),
        ("phase_changed", 1.25, {**task, "attempt": 1, "phase": "evaluate"}),
    ]
    return [
        ProgressEvent(run_id="r1", event=name, timestamp=1795961361.0 + after, **fields)  # type: ignore[arg-type]
        for name, after, fields in rows
    ]


def progress() -> bytes:
    tracker = Tracker("r1", "toy", "none", "host_process", "org/m")
    for event in events():
        tracker.apply(event)
    return encode(tracker.snapshot())


def progress_lines(folder: Path) -> bytes:
    path = folder / "progress.jsonl"
    EventFile(path=path, redactor=redactor, disk=Disk()).append(events())
    return path.read_bytes()


def written(folder: Path) -> dict[str, bytes]:
    evaluation = evaluation_document(checkpoint(artifacts=manifest(ATTEMPT)), ATTEMPT, redactor)
    logical = LogicalAttempt(
        task_id=TASK_ID, attempt_index=1, status="completed", result_path="result.json"
    )
    section = scheduler_document(logical)
    return {
        "result.json": encode(result_document(with_manifest(ATTEMPT), redactor)),
        "result-fatal.json": encode(
            result_document(
                result(correct=None, status="run_error", issues=(FATAL,), retry_count=2), redactor
            )
        ),
        "task-running.json": encode(index_document(TASK_ID, [1, 2])),
        "task.json": encode(published_document(HEADER_3, [1, 2, 3], redactor)),
        "checkpoint.json": encode(checkpoint_document(evaluation=evaluation, scheduler=section)),
        "retry.json": encode(retry_document(retry(), redactor)),
        "run_info.json": b"".join(provenance().snapshot().pieces()),
        "params.json": encode(provenance().params(), sort_keys=True),
        "progress.json": progress(),
        "progress.jsonl": progress_lines(folder),
    }


NAMES = [
    *("result.json", "result-fatal.json", "task-running.json", "task.json", "checkpoint.json"),
    *("retry.json", "run_info.json", "params.json", "progress.json", "progress.jsonl"),
]


@pytest.mark.parametrize("name", NAMES)
def test_a_document_is_written_as_the_fixture_has_it(tmp_path: Path, name: str) -> None:
    assert written(tmp_path)[name].decode() == (FIXTURES / name).read_text()


def test_every_fixture_is_compared(tmp_path: Path) -> None:
    assert (
        sorted(NAMES)
        == sorted(path.name for path in FIXTURES.glob("*.*"))
        == sorted(written(tmp_path))
    )


def test_documents_never_change_the_records_that_they_are_made_of(tmp_path: Path) -> None:
    source = with_manifest(ATTEMPT)
    document = result_document(source, redactor)
    document["artifacts"]["declared_artifacts"]["directory"] = "elsewhere"
    document["meta"]["benchmark"]["note"] = "changed"

    assert source == with_manifest(ATTEMPT)


def test_what_is_empty_is_left_out_at_any_depth() -> None:
    value = {"a": {"b": {}, "c": None}, "d": [{"e": None}, None, 0], "f": 0, "g": "", "h": False}

    assert without_empty(value) == {"d": [{}, None, 0], "f": 0, "g": "", "h": False}


def test_the_ground_truth_stays_with_the_task_only() -> None:
    assert "ground_truth" not in result_document(result(), redactor)
    assert published_document(HEADER, [1], redactor)["ground_truth"] == "42"


def test_plans_that_are_shared_are_each_on_record() -> None:
    """Fails when a plan is taken for the one before it."""
    record, shared = provenance(), {"environment": {"id": "docker"}, "key": KEY}
    record.add_plan("a", 1, shared)
    record.add_plan("b", 1, shared)
    record.add_plan("c", 1, {"environment": {"id": "other"}})
    record.add_plan("d", 2, shared)
    plans = json.loads(b"".join(record.snapshot().pieces()))["resolved_execution_plans"]

    masked = {"environment": {"id": "docker"}, "key": MASK}
    assert plans["a"] == plans["b"] == {"attempts": {"1": masked}}
    assert plans["c"] == {"attempts": {"1": {"environment": {"id": "other"}}}}
    assert plans["d"] == {"attempts": {"2": masked}}
