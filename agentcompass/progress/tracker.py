"""The fold of progress events into progress.json: pure, O(1) an event."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import attrs

from agentcompass.records.progress import ActiveTask, ProgressEvent, ProgressSnapshot


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
    _active: dict[str, ActiveTask] = attrs.field(factory=dict, init=False)
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
            current_phase_counts=dict(self._phases),
            active_tasks=dict(self._active),
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
        self._move(event.task_id, ActiveTask(category=event.category, updated_at=event.timestamp))

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
        task = self._active.get(event.task_id or "")
        if task is None or event.task_id is None:
            return
        changed = ActiveTask(  # not by `evolve`, which takes as long as all the rest
            category=task.category,
            phase=task.phase if event.phase is None else event.phase,
            attempt=task.attempt if event.attempt is None else event.attempt,
            updated_at=event.timestamp,
            details=task.details if details is None else details,
        )
        self._move(event.task_id, changed)

    def _on_partial_saved(self, event: ProgressEvent) -> None:
        self._counts["partials_saved"] += 1
        self._touch(event)

    def _on_task_finished(self, event: ProgressEvent) -> None:
        self._less("running_tasks" if event.task_id in self._active else "pending_tasks")
        self._move(event.task_id or "", None)
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

    def _move(self, task_id: str, task: ActiveTask | None) -> None:
        """Put a task where it is now, None for nowhere, and keep the counts of phases right."""
        before = self._active.get(task_id)
        if before is not None:
            self._phases[before.phase] -= 1
            if not self._phases[before.phase]:
                del self._phases[before.phase]
        if task is None:
            self._active.pop(task_id, None)
        else:
            self._active[task_id] = task
            self._phases[task.phase] += 1

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
