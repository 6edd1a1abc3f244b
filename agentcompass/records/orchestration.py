"""One launch of several requests: what it asks for, as callers write it, and what came of it."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import attrs

RequestStatus = Literal["completed", "failed", "timed_out", "cancelled"]
OrchestrationStatus = Literal["completed", "partial_failure", "failed", "timed_out", "cancelled"]


@attrs.frozen(kw_only=True)
class RunRuntimeSpec:
    """What a request takes over from an earlier run; None leaves it to the defaults."""

    reuse: bool | None = None
    reuse_run_id: str | None = None
    checkpoint_resume: bool | None = None


@attrs.frozen(kw_only=True)
class RuntimeOptions:
    """Settings of the process for all requests (docs/launch.md); None leaves them to the files.

    Timeouts are in seconds; one, a limit or a pace of 0 is none.
    """

    results_dir: str | None = None
    data_dir: str | None = None
    timeout_seconds: float | None = None
    provider_limits: Mapping[str, int] | None = None
    env_open_qps: Mapping[str, float] | None = None
    progress: str | None = None
    log_level: str | None = None
    file_log_level: str | None = None
    log_file: str | None = None
    auto_install_dependencies: bool | None = None
    recipe_dirs: Sequence[str] | None = None
    cleanup_grace_seconds: float | None = None


@attrs.frozen(kw_only=True)
class OrchestrationDefaults:
    """What every request has unless it says otherwise; the sections are those of docs/launch.md.

    A component is `{"id": ..., parameter: value, ...}`.
    """

    benchmark: Mapping[str, Any] | None = None
    harness: Mapping[str, Any] | None = None
    environment: Mapping[str, Any] | None = None
    model: Mapping[str, Any] | None = attrs.field(default=None, repr=False)
    execution: Mapping[str, Any] | None = None
    runtime: Mapping[str, Any] | RunRuntimeSpec | None = None
    output: Mapping[str, Any] | None = None


@attrs.frozen(kw_only=True)
class RunRequestSpec(OrchestrationDefaults):
    """One request by its name, which no other has: what differs from the defaults."""

    name: str


@attrs.frozen(kw_only=True)
class OrchestrationSpec:
    """What `launch` is asked for; nothing is checked before it is launched."""

    requests: Sequence[RunRequestSpec | Mapping[str, Any]]
    version: int = 1
    name: str = ""
    task_concurrency: int | None = None
    runtime: RuntimeOptions | Mapping[str, Any] | None = None
    defaults: OrchestrationDefaults | Mapping[str, Any] | None = None


@attrs.frozen(kw_only=True)
class RequestOutcome:
    """How one request ended.

    `result` is what `run_evaluation` would have returned, of a failed, timed out or cancelled
    request that of what had finished; None where the request never began. `error` is empty where
    there is none. `paths` are the result's.
    """

    name: str
    status: RequestStatus
    result: Mapping[str, Any] | None = None
    error: str = ""
    paths: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class OrchestrationResult:
    """How an orchestration ended: its requests by name, in their order. Times are ISO 8601.

    `completed` is all of them, `partial_failure` that some failed, `failed` that all did.
    """

    orchestration_id: str
    name: str
    status: OrchestrationStatus
    requests: Mapping[str, RequestOutcome]
    started_at: str
    finished_at: str


def overall(outcomes: Sequence[RequestOutcome]) -> OrchestrationStatus:
    """What the ends of all requests come to; the gravest first: cancelled, timed out, failed."""
    statuses = {outcome.status for outcome in outcomes}
    if "cancelled" in statuses:
        return "cancelled"
    if "timed_out" in statuses:
        return "timed_out"
    if "failed" in statuses:
        return "failed" if statuses == {"failed"} else "partial_failure"
    return "completed"
