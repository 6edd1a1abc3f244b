"""The fold of progress events into progress.json: pure, O(1) an event."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import attrs

from agentcompass.records.progress import ActiveTask, ProgressEvent, ProgressSnapshot


@attrs.define(eq=False)
class _Place:
    """Where one running task is: the fields of `ActiveTask`, which there is one of a snapshot."""

    category: str | None
    updated_at: float
    phase: str = "running"
    attempt: int | None = None
    details: Mapping[str, Any] = attrs.field(factory=dict)

    def shown(self) -> ActiveTask:
        return ActiveTask(
            category=self.category,
            phase=self.phase,
            attempt=self.attempt,
            updated_at=self.updated_at,
            details=self.details,
        )


@attrs.define(eq=False)
class Tracker:
    """Applies events one after another; `snapshot` is what they come to.

    Any stream is taken without an error: a count never falls below 0, and a task that is heard of
    for the first time when it finishes is counted as finished.
    """

    run_id: str
    benchmark: str
    harness: str
    environment: str
    model: str
    _status: str = attrs.field(default="created", init=False)
    _counts: Counter[str] = attrs.field(factory=Counter, init=False)
    _phases: Counter[str] = attrs.field(factory=Counter, init=False)
    _active: dict[str, _Place] = attrs.field(factory=dict, init=False)
    _traffic: dict[str, Mapping[str, Any]] = attrs.field(factory=dict, init=False)
    _began_at: float | None = attrs.field(default=None, init=False)
    _elapsed: float = attrs.field(default=0.0, init=False)
    _updated_at: float = attrs.field(default=0.0, init=False)

    def apply(self, event: ProgressEvent, *, elapsed_seconds: float | None = None) -> None:
        """Take an event in.

        `elapsed_seconds` is the caller's monotonic time since the run began; without it the time
        stamps have to do, and a wall clock that steps back counts as standing still.
        """
        getattr(self, f"_on_{event.event}", self._touch)(event)
        if self._began_at is None:
            self._began_at = event.timestamp
        if elapsed_seconds is None:
            elapsed_seconds = event.timestamp - self._began_at
        self._elapsed = max(self._elapsed, elapsed_seconds)
        self._updated_at = event.timestamp

    def snapshot(self) -> ProgressSnapshot:
        """The state after the latest event."""
        return ProgressSnapshot(
            run_id=self.run_id,
            benchmark=self.benchmark,
            harness=self.harness,
            environment=self.environment,
            model=self.model,
            status=self._status,
            **{name: self._counts[name] for name in _COUNTS},
            current_phase_counts={phase: count for phase, count in self._phases.items() if count},
            active_tasks={task_id: place.shown() for task_id, place in self._active.items()},
            model_traffic=dict(self._traffic) or None,
            elapsed_seconds=round(self._elapsed, 3),
            updated_at=self._updated_at,
        )

    def _on_run_started(self, _event: ProgressEvent) -> None:
        self._status = "running"

    def _on_tasks_loaded(self, event: ProgressEvent) -> None:
        total = _number(event.payload, "total_tasks")
        self._counts["total_tasks"] = self._counts["pending_tasks"] = total

    def _on_reuse_loaded(self, event: ProgressEvent) -> None:
        severities = event.payload.get("reused_severity_counts")
        severities = severities if isinstance(severities, Mapping) else {}
        reused = _number(event.payload, "reused_tasks")
        failed = min(reused, _number(severities, "fatal"))
        self._counts["reused_tasks"] = self._counts["finished_tasks"] = reused
        self._counts["completed_tasks"] = reused - failed
        self._counts["failed_tasks"] = failed
        self._counts["error_tasks"] = _number(severities, "error")
        self._counts["warning_tasks"] = _number(severities, "warning")
        self._counts["pending_tasks"] = _number(event.payload, "tasks_to_run")

    def _on_task_started(self, event: ProgressEvent) -> None:
        if event.task_id is None or event.task_id in self._active:
            return
        self._less("pending_tasks")
        self._counts["running_tasks"] += 1
        self._active[event.task_id] = place = _Place(event.category, event.timestamp)
        self._phases[place.phase] += 1

    def _on_attempt_started(self, event: ProgressEvent) -> None:
        self._counts["attempts_started"] += 1
        self._touch(event)

    def _on_attempt_finished(self, event: ProgressEvent) -> None:
        self._counts["attempts_finished"] += 1
        self._touch(event)

    def _on_phase_changed(self, event: ProgressEvent) -> None:
        self._touch(event, event.payload)

    def _touch(self, event: ProgressEvent, details: Mapping[str, Any] | None = None) -> None:
        """Of attempts at the same time, a task shows the one that was heard of last."""
        place = None if event.task_id is None else self._active.get(event.task_id)
        if place is None:
            return
        place.updated_at = event.timestamp
        if event.attempt is not None:
            place.attempt = event.attempt
        if details is not None:
            place.details = details
        if event.phase is not None and event.phase != place.phase:
            self._phases[place.phase] -= 1
            place.phase = event.phase
            self._phases[event.phase] += 1

    def _on_partial_saved(self, event: ProgressEvent) -> None:
        self._counts["partials_saved"] += 1
        self._touch(event)

    def _on_task_finished(self, event: ProgressEvent) -> None:
        self._less("running_tasks" if event.task_id in self._active else "pending_tasks")
        place = self._active.pop(event.task_id or "", None)
        if place is not None:
            self._phases[place.phase] -= 1
        self._counts["finished_tasks"] += 1
        outcome = event.status if event.status in ("failed", "skipped") else "completed"
        self._counts[f"{outcome}_tasks"] += 1
        severity = event.payload.get("severity")
        if severity in ("error", "warning"):
            self._counts[f"{severity}_tasks"] += 1

    def _on_model_traffic(self, event: ProgressEvent) -> None:
        self._traffic[str(event.payload.get("endpoint"))] = event.payload

    def _on_summary_started(self, _event: ProgressEvent) -> None:
        self._status = "summarizing"

    def _on_run_finished(self, event: ProgressEvent) -> None:
        self._status = event.status or "completed"
        left = self._counts["total_tasks"] - self._counts["finished_tasks"]
        self._counts["pending_tasks"] = max(0, left)
        self._counts["running_tasks"] = 0
        self._active.clear()
        self._phases.clear()

    def _less(self, count: str) -> None:
        self._counts[count] = max(0, self._counts[count] - 1)


def _number(payload: Mapping[str, Any], name: str) -> int:
    value = payload.get(name)
    return value if isinstance(value, int) and value >= 0 else 0


_COUNTS = (
    *("total_tasks", "reused_tasks", "pending_tasks", "running_tasks", "finished_tasks"),
    *("completed_tasks", "failed_tasks", "error_tasks", "warning_tasks", "skipped_tasks"),
    *("attempts_started", "attempts_finished", "partials_saved"),
)
