"""The events of one run and of one task, in the form of docs/run-directory.md."""

import time
from collections.abc import Mapping
from typing import Any

import attrs

from agentcompass.engine.job import Run
from agentcompass.records.model import EndpointTraffic
from agentcompass.records.progress import ProgressEvent
from agentcompass.records.task import TaskSpec


def emit_run(run: Run, event: str, *, status: str | None = None, **payload: Any) -> None:
    """Emit an event of the whole run."""
    run.emit(
        ProgressEvent(
            run_id=run.store.run_id,
            event=event,
            timestamp=time.time(),
            status=status,
            payload=payload,
        )
    )


def emit_traffic(run: Run, traffic: EndpointTraffic) -> None:
    """Emit how an endpoint takes the calls of the run's model."""
    emit_run(run, "model_traffic", **attrs.asdict(traffic))


@attrs.define(eq=False)
class TaskEvents:
    """Emits for one task. A task has started when its first execution is admitted, and once only.

    `index` is the task's place in the selected list, from 0; `total` is how many were selected.
    """

    run: Run
    task: TaskSpec
    index: int
    total: int
    _started: bool = False
    _attempts: set[int] = attrs.field(factory=set)

    def attempt_started(self, attempt: int) -> None:
        """Note that an attempt has begun; a retry changes nothing."""
        self.task_started()
        if attempt not in self._attempts:
            self._attempts.add(attempt)
            self._emit("attempt_started", attempt=attempt)

    def has_started(self, attempt: int) -> bool:
        """Whether an attempt has begun."""
        return attempt in self._attempts

    def task_started(self) -> None:
        """Note that the task has begun, if it has not."""
        if not self._started:
            self._started = True
            self._emit("task_started", payload={"index": self.index, "total": self.total})

    def phase(self, name: str, attempt: int, **payload: Any) -> None:
        """Enter a phase."""
        self._emit("phase_changed", attempt=attempt, phase=name, payload=payload)

    def plan_resolved(self, attempt: int, plan: Mapping[str, Any]) -> None:
        """Publish the summary of an attempt's plan."""
        self._emit("execution_plan_resolved", attempt=attempt, phase="plan", payload=plan)

    def retry(self, attempt: int, payload: Mapping[str, Any]) -> None:
        """Announce that the attempt is executed, or scored, once more."""
        self._emit("attempt_retry", attempt=attempt, payload=payload)

    def attempt_finished(self, attempt: int, severity: str) -> None:
        """Close an attempt; only a FATAL issue makes it failed."""
        status = "failed" if severity == "fatal" else "completed"
        self._emit("attempt_finished", attempt=attempt, status=status)

    def task_finished(self, severity: str, *, saved: bool, outcome: Mapping[str, Any]) -> None:
        """Close the task; `saved` tells that its result is durable, `outcome` what it measured."""
        self.task_started()
        if saved:
            self._emit("partial_saved")
        payload = {"index": self.index, "total": self.total, "severity": severity, **outcome}
        status = "failed" if severity == "fatal" else "completed"
        self._emit("task_finished", status=status, payload=payload)

    def _emit(
        self,
        event: str,
        *,
        attempt: int | None = None,
        phase: str | None = None,
        status: str | None = None,
        payload: Mapping[str, Any] | None = None,
    ) -> None:
        self.run.emit(
            ProgressEvent(
                run_id=self.run.store.run_id,
                event=event,
                timestamp=time.time(),
                task_id=self.task.task_id,
                category=self.task.category,
                attempt=attempt,
                phase=phase,
                status=status,
                payload=payload or {},
            )
        )
