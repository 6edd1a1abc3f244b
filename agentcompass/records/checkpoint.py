"""What an attempt leaves for a later run to go on from (checkpoint.json), and discarded results."""

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from agentcompass.records.artifacts import ArtifactManifest
from agentcompass.records.environment import NetworkPolicy
from agentcompass.records.issue import Issue
from agentcompass.records.task import EvaluationMode, PreparedTask, RunResult

CHECKPOINT_SCHEMA = "agentcompass.attempt_checkpoint.v1"
EVALUATION_SCHEMA = "agentcompass.evaluation_checkpoint.v4"
LOGICAL_ATTEMPT_SCHEMA = "agentcompass.logical_attempt.v2"
RETRY_SCHEMA = "agentcompass.retry.v1"

RetryScope = Literal["attempt", "evaluate"]

_LEFT_OUT = {"omit_none": True}


@attrs.frozen(kw_only=True)
class EvaluationCheckpoint:
    """The agent's finished work, and what scoring it again needs (docs/run-directory.md).

    `driver_inputs` maps absolute host paths to {sha256, size_bytes, file_count}.
    """

    schema_version: str = EVALUATION_SCHEMA
    task_id: str
    attempt: int
    source_run_id: str
    source_evaluation_mode: EvaluationMode
    run_completed: bool = True
    artifacts: ArtifactManifest | None = None
    run_result: RunResult
    prepared_task: PreparedTask
    network_policy: NetworkPolicy | None = None
    driver_inputs: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class LogicalAttempt:
    """An attempt that has ended while its task has not; gone once the task is published.

    `result_path` names the result beside it; an attempt without a result has none, and says in
    `error` why.
    """

    schema_version: str = LOGICAL_ATTEMPT_SCHEMA
    task_id: str
    attempt_index: int
    status: Literal["completed", "failed"]
    stop_requested: bool = False
    retries: int = 0
    error: str | None = None
    result_path: str | None = attrs.field(default=None, metadata=_LEFT_OUT)


@attrs.frozen(kw_only=True)
class AttemptCheckpoint:
    """checkpoint.json: sections, each there only while it has something to say."""

    schema_version: str = CHECKPOINT_SCHEMA
    evaluation: EvaluationCheckpoint | None = attrs.field(default=None, metadata=_LEFT_OUT)
    scheduler: LogicalAttempt | None = attrs.field(default=None, metadata=_LEFT_OUT)
    artifact_transfer: ArtifactManifest | None = attrs.field(default=None, metadata=_LEFT_OUT)


@attrs.frozen(kw_only=True)
class RetryDetail:
    """A discarded result, why it was discarded, and which retry followed (docs/run-directory.md).

    `matched_pattern` is `fatal` or the expression that matched; the delay is in seconds.
    """

    schema_version: str = RETRY_SCHEMA
    task_id: str
    category: str | None = None
    attempt: int
    retry: int
    max_retries: int
    retry_delay_seconds: float
    stage: str
    scope: RetryScope
    matched_pattern: str
    issues: tuple[Issue, ...] = ()
    discarded_result: RunResult

    def announcement(self) -> dict[str, Any]:
        """The payload of the event `attempt_retry`, but for the path of this record."""
        fields = ("retry", "max_retries", "retry_delay_seconds", "stage", "scope")
        return {
            **{name: getattr(self, name) for name in fields},
            "matched_pattern": self.matched_pattern,
        }
