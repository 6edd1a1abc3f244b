"""What is written of an attempt: plain JSON values, with the secrets masked where they may stand.

Metrics, ground truth and final answer lose known secrets only, and so does what a
later scoring needs as it was. Manifests keep the names of the files that they describe.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any

from agentcompass.records.artifacts import ArtifactManifest
from agentcompass.records.attempt import (
    AttemptResult,
    PublishedTask,
    TaskHeader,
    TaskIndex,
    attempt_name,
)
from agentcompass.records.checkpoint import (
    CHECKPOINT_SCHEMA,
    EvaluationCheckpoint,
    LogicalAttempt,
    RetryDetail,
)
from agentcompass.store.encode import plain
from agentcompass.store.redact import Redactor
from agentcompass.store.salvage import Salvage

log = logging.getLogger(__name__)

MANIFEST = "declared_artifacts"

_NOTHING_COLLECTED = plain(ArtifactManifest(directory="", complete=True))
_HOLDERS = frozenset({dict, list})


def result_document(result: AttemptResult, redactor: Redactor) -> dict[str, Any]:
    """result.json."""
    record = _salvaged(result, redactor)
    _mask_result(record, redactor, by_name=("analysis_result", "meta"))
    meta = without_empty(record["meta"])
    record["meta"] = {"benchmark": {}, "harness": {}, **meta}
    return record


def evaluation_document(
    checkpoint: EvaluationCheckpoint, reference: str, redactor: Redactor
) -> dict[str, Any]:
    """The `evaluation` section; `reference` is where its artifacts are, or would be."""
    salvage = Salvage(redactor)
    record: dict[str, Any] = salvage.plain(checkpoint)
    _note(record["run_result"], salvage)
    if record["artifacts"] is None:
        record["artifacts"] = {**_NOTHING_COLLECTED, "directory": reference, "entries": []}
    by_value = ("ground_truth", "telemetry", "meta", "extra")
    _mask_result(record["run_result"], redactor, by_value=by_value)
    record["prepared_task"] = redactor.known(record["prepared_task"])
    return record


def retry_document(detail: RetryDetail, redactor: Redactor) -> dict[str, Any]:
    """The file of a discarded result."""
    record = _salvaged(detail, redactor)
    _mask_issues(record, redactor)
    _mask_result(
        record["discarded_result"],
        redactor,
        by_value=("ground_truth",),
        by_name=("telemetry", "meta", "extra"),
    )
    return record


def index_document(task_id: str, attempts: Sequence[int]) -> dict[str, Any]:
    """task.json of a task that goes on."""
    record: dict[str, Any] = plain(TaskIndex(task_id=task_id, attempts=_names(attempts)))
    return record


def published_document(
    header: TaskHeader, attempts: Sequence[int], redactor: Redactor
) -> dict[str, Any]:
    """task.json of a task that is done."""
    salvage = Salvage(redactor)
    record: dict[str, Any] = salvage.plain(
        PublishedTask(
            task_id=header.task_id,
            attempts=_names(attempts),
            category=header.category,
            ground_truth=header.ground_truth,
            attempt_plan=header.attempt_plan,
        )
    )
    if issue := salvage.issue():
        log.warning("task %s: %s", header.task_id, issue.message)
    record["ground_truth"] = redactor.known(record["ground_truth"])
    return record


def scheduler_document(attempt: LogicalAttempt) -> dict[str, Any]:
    """The `scheduler` section; an attempt without a result says so with a null."""
    record: dict[str, Any] = plain(attempt)
    if attempt.result_path is None:
        record["value"] = None
    return record


def checkpoint_document(**sections: Any) -> dict[str, Any]:
    """checkpoint.json with its sections."""
    return {"schema_version": CHECKPOINT_SCHEMA, **sections}


def without_empty(value: Any) -> Any:
    """`value` without the fields, at any depth, that are null or an empty object or list."""
    if isinstance(value, dict):
        return {
            key: kept
            for key, item in value.items()
            if (kept := without_empty(item) if type(item) in _HOLDERS else item)
            or not is_empty(kept)
        }
    return [without_empty(item) for item in value] if isinstance(value, list) else value


def is_empty(value: Any) -> bool:
    """Whether `value` is null or an object or list without content; 0, false and "" are not."""
    return value is None or (isinstance(value, dict | list) and not value)


def _names(attempts: Sequence[int]) -> dict[str, str]:
    return {str(number): attempt_name(number) for number in attempts}


def _salvaged(value: Any, redactor: Redactor) -> dict[str, Any]:
    """A record with issues, one of them for what in it JSON cannot hold."""
    salvage = Salvage(redactor)
    record: dict[str, Any] = salvage.plain(value)
    _note(record, salvage)
    return record


def _note(record: dict[str, Any], salvage: Salvage) -> None:
    if issue := salvage.issue():
        record["issues"].append(plain(issue))


def _mask_result(
    record: dict[str, Any],
    redactor: Redactor,
    *,
    by_value: Sequence[str] = (),
    by_name: Sequence[str] = (),
) -> None:
    """Mask what every result has, and further fields: known secrets only, or by name as well."""
    _mask_issues(record, redactor)
    _mask(record, ("final_answer", *by_value), redactor.known)
    _mask(record, ("trajectory", *by_name), redactor.record)
    if artifacts := record["artifacts"]:
        record["artifacts"] = {
            name: item if name == MANIFEST else redactor.record(item)
            for name, item in artifacts.items()
        }


def _mask(record: dict[str, Any], names: Sequence[str], mask: Callable[[Any], Any]) -> None:
    masked = mask([record[name] for name in names])  # all at once, which takes less time
    record.update(zip(names, masked, strict=True))


def _mask_issues(record: dict[str, Any], redactor: Redactor) -> None:
    for issue in record["issues"]:
        issue["message"] = redactor.text(issue["message"])
