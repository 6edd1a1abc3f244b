"""Progress as it is written: events, one a line, and the snapshot that they fold to."""

from collections.abc import Mapping
from typing import Any, Literal

import attrs

# What run_info.json (in `request.metadata`) and every event say of where a request stands.
PLACE = ("orchestration_id", "request_key", "request_name", "request_index")


@attrs.frozen(kw_only=True)
class ProgressEvent:
    """One line of progress.jsonl (docs/run-directory.md); fields are in the order written.

    `timestamp` is Unix seconds. The last four are null for a standalone request.
    """

    run_id: str
    event: str
    timestamp: float
    task_id: str | None = None
    category: str | None = None
    attempt: int | None = None
    phase: str | None = None
    status: str | None = None
    payload: Mapping[str, Any] = attrs.field(factory=dict)
    orchestration_id: str | None = None
    request_key: str | None = None
    request_name: str | None = None
    request_index: int | None = None


def with_payload(event: ProgressEvent, payload: Mapping[str, Any]) -> ProgressEvent:
    """The event with a copy of `payload`: whoever changes that changes nobody else's."""
    return attrs.evolve(event, payload=_copied(payload))


def _copied(value: Any) -> Any:
    if type(value) in _ATOMS:  # nearly all: to ask for a mapping takes far longer
        return value
    if isinstance(value, Mapping):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copied(item) for item in value]
    return value


_ATOMS = frozenset({str, int, float, bool, type(None)})


@attrs.frozen(kw_only=True)
class ActiveTask:
    """Where one running task is."""

    category: str | None = None
    phase: str = "running"
    attempt: int | None = None
    updated_at: float = 0.0
    details: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class ProgressSnapshot:
    """progress.json: counts of tasks; `elapsed_seconds` to three decimals.

    `model_traffic` is what the latest event of that name said, by endpoint; None before it.
    """

    run_id: str
    benchmark: str
    harness: str
    environment: str
    model: str
    status: str = "created"
    total_tasks: int = 0
    reused_tasks: int = 0
    pending_tasks: int = 0
    running_tasks: int = 0
    finished_tasks: int = 0
    completed_tasks: int = 0
    failed_tasks: int = 0
    error_tasks: int = 0
    warning_tasks: int = 0
    skipped_tasks: int = 0
    attempts_started: int = 0
    attempts_finished: int = 0
    partials_saved: int = 0
    current_phase_counts: Mapping[str, int] = attrs.field(factory=dict)
    active_tasks: Mapping[str, ActiveTask] = attrs.field(factory=dict)
    model_traffic: Mapping[str, Mapping[str, Any]] | None = attrs.field(
        default=None, metadata={"omit_none": True}
    )
    elapsed_seconds: float = 0.0
    updated_at: float = 0.0


@attrs.frozen(kw_only=True)
class EventsDropped:
    """Stands for `dropped` events that a reader was too late for, which led to `snapshot`."""

    dropped: int
    snapshot: ProgressSnapshot
    event: Literal["events_dropped"] = attrs.field(default="events_dropped", init=False)
