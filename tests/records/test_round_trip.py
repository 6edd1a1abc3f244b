"""Every record comes back from its file as it was, and a record that is not one is refused."""

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.errors import RecordCorrupt
from agentcompass.records.artifacts import ArtifactEntry, ArtifactManifest
from agentcompass.records.attempt import AttemptResult, TaskIndex
from agentcompass.records.checkpoint import (
    AttemptCheckpoint,
    EvaluationCheckpoint,
    LogicalAttempt,
    RetryDetail,
)
from agentcompass.records.convert import structure_record, unstructure
from agentcompass.records.environment import NetworkPolicy
from agentcompass.records.run_info import RunInfo
from agentcompass.records.task import PreparedTask, RunResult
from agentcompass.store.encode import decode, encode
from tests import strategies

ALL = [
    strategies.active_tasks,
    strategies.artifact_entries,
    strategies.artifact_limits,
    strategies.artifact_manifests,
    strategies.artifact_specs,
    strategies.attempt_checkpoints,
    strategies.attempt_plans,
    strategies.attempt_results,
    strategies.collect_commands,
    strategies.component_specs,
    strategies.environment_plans,
    strategies.environment_specs,
    strategies.evaluation_checkpoints,
    strategies.execution_options,
    strategies.execution_plans,
    strategies.issues,
    strategies.logical_attempts,
    strategies.metric_artifacts,
    strategies.model_specs,
    strategies.network_policies,
    strategies.origins,
    strategies.output_options,
    strategies.prepared_tasks,
    strategies.process_options,
    strategies.progress_events,
    strategies.progress_snapshots,
    strategies.published_tasks,
    strategies.replies,
    strategies.resources,
    strategies.retry_details,
    strategies.reuse_options,
    strategies.run_infos,
    strategies.run_requests,
    strategies.run_results,
    strategies.setups,
    strategies.task_headers,
    strategies.task_indexes,
    strategies.task_inputs,
    strategies.task_outputs,
    strategies.task_specs,
    strategies.usages,
]


@given(st.one_of(ALL))
def test_a_record_comes_back_from_its_file_as_it_was(record: Any) -> None:
    """Fails when a hook coerces, when a lone surrogate is replaced, or a field is not written."""
    read = decode(encode(record), source="file")

    assert structure_record(read, type(record), source="file") == record


@given(st.one_of(ALL))
def test_the_store_and_the_converter_write_the_same(record: Any) -> None:
    """Fails when one of them forgets `omit_none`."""
    assert encode(record) == encode(unstructure(record))


@given(st.one_of(ALL), strategies.values)
def test_a_later_versions_field_is_passed_over(record: Any, value: Any) -> None:
    written = {**unstructure(record), "from_the_future": value}

    assert structure_record(written, type(record), source="file") == record


@pytest.mark.parametrize(
    ("record", "absent"),
    [
        (AttemptCheckpoint(), {"evaluation", "scheduler", "artifact_transfer"}),
        (
            RunInfo(run_id="r", started_at="now", request={}),
            {"status", "finished_at", "error", "task_ids", "reused_from", "metric_artifacts"},
        ),
        (ArtifactEntry(source="/a", destination="a"), {"kind", "sha256", "size_bytes"}),
    ],
)
def test_what_has_not_come_about_is_not_written(record: Any, absent: set[str]) -> None:
    assert not absent & unstructure(record).keys()


def test_an_entry_says_null_for_the_service_it_does_not_have() -> None:
    written = unstructure(ArtifactEntry(source="/a", destination="a"))

    assert written == {
        "source": "/a",
        "destination": "a",
        "exclude": [],
        "service": None,
        "status": "pending",
    }


def test_result_json_has_its_nine_fields_in_order() -> None:
    assert list(unstructure(AttemptResult())) == [
        *("status", "metrics", "final_answer", "trajectory", "issues", "artifacts"),
        *("analysis_result", "meta", "retry_count"),
    ]


@pytest.mark.parametrize(
    ("kind", "record", "place"),
    [
        (AttemptResult, {"retry_count": "2"}, "retry_count"),
        (AttemptResult, {"retry_count": 2.0}, "retry_count"),
        (AttemptResult, {"retry_count": -1}, "retry_count"),
        (AttemptResult, {"status": "fine"}, "status"),
        (AttemptResult, {"metrics": {"correct": "true"}}, r"metrics\[.correct"),
        (AttemptResult, {"metrics": {"score": float("inf")}}, r"metrics\[.score"),
        (AttemptResult, {"final_answer": {"a": [float("nan")]}}, "final_answer"),
        (AttemptResult, {"trajectory": []}, "trajectory"),
        (AttemptResult, {"issues": [{"severity": "bad"}]}, "issues"),
        (TaskIndex, {"task_id": 3, "attempts": {}}, "task_id"),
        (TaskIndex, {"attempts": {}}, "task_id"),
        (ArtifactManifest, {"directory": "d", "schema_version": 2}, "schema_version"),
        (ArtifactManifest, {"directory": "d", "entries": "abc"}, "entries"),
        (RunInfo, {"run_id": None, "started_at": "x", "request": {}}, "run_id"),
    ],
)
def test_a_record_that_is_not_one_is_refused_with_its_place(
    kind: type[Any], record: dict[str, Any], place: str
) -> None:
    with pytest.raises(RecordCorrupt, match=f"result.json.*{place}"):
        structure_record(record, kind, source="result.json")


def test_metrics_keep_true_and_1_apart() -> None:
    read = structure_record({"metrics": {"a": True, "b": 1}}, AttemptResult, source="file")

    assert read.metrics == {"a": True, "b": 1.0}
    assert [type(value) for value in read.metrics.values()] == [bool, float]


def test_the_written_schemas_are_those_of_the_seeds() -> None:
    detail = RetryDetail(
        task_id="t",
        attempt=1,
        retry=1,
        max_retries=1,
        retry_delay_seconds=0.0,
        stage="run_harness",
        scope="attempt",
        matched_pattern="fatal",
        discarded_result=RunResult(task_id="t"),
    )
    evaluation = EvaluationCheckpoint(
        task_id="t",
        attempt=1,
        source_run_id="r",
        source_evaluation_mode="none",
        run_result=RunResult(task_id="t"),
        prepared_task=PreparedTask(task_id="t"),
        network_policy=NetworkPolicy(),
    )
    records = [
        RunInfo(run_id="r", started_at="now", request={}),
        TaskIndex(task_id="t", attempts={}),
        AttemptCheckpoint(),
        evaluation,
        LogicalAttempt(task_id="t", attempt_index=1, status="completed"),
        detail,
        ArtifactManifest(directory="d"),
    ]

    assert [record.schema_version for record in records] == [
        "agentcompass.run_info.v3",
        "agentcompass.task.v3",
        "agentcompass.attempt_checkpoint.v1",
        "agentcompass.evaluation_checkpoint.v4",
        "agentcompass.logical_attempt.v2",
        "agentcompass.retry.v1",
        1,
    ]


def test_records_are_frozen() -> None:
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        AttemptResult().status = "completed"  # type: ignore[misc]
