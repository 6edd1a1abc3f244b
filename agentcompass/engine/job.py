"""What the levels of a request share: the job as it was resolved, and the run while it is open."""

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol

import attrs

from agentcompass.deadlines import CleanupClock
from agentcompass.engine.limits import Limits
from agentcompass.engine.retry import RetryPolicy
from agentcompass.protocols import Benchmark, Environment, Harness, Model, Recipe
from agentcompass.records.attempt import AttemptResult, TaskHeader
from agentcompass.records.checkpoint import EvaluationCheckpoint, RetryDetail
from agentcompass.records.metrics import MetricReport
from agentcompass.records.progress import ProgressEvent
from agentcompass.records.request import RunRequest
from agentcompass.store.redact import Redactor


class Store(Protocol):
    """The run directory as the engine uses it; `store.runs.RunStore` is the real one."""

    @property
    def directory(self) -> Path: ...

    @property
    def run_id(self) -> str: ...

    def emit(self, event: ProgressEvent) -> None: ...

    async def flush(self) -> None: ...

    def record_plan(self, task_id: str, attempt: int, plan: Mapping[str, Any]) -> None: ...

    async def update_run_info(self, **fields: Any) -> None: ...

    def artifacts_dir(self, task_id: str, attempt: int) -> Path: ...

    async def save_evaluation_checkpoint(self, checkpoint: EvaluationCheckpoint) -> None: ...

    async def save_attempt(
        self, header: TaskHeader, attempt: int, result: AttemptResult
    ) -> None: ...

    async def save_interrupted(
        self, header: TaskHeader, attempt: int, *, phase: str, retries: int
    ) -> None: ...

    async def publish_task(self, header: TaskHeader, severity: str) -> None: ...

    async def save_task(
        self, header: TaskHeader, results: Mapping[int, AttemptResult], severity: str
    ) -> None: ...

    async def save_retry(self, detail: RetryDetail) -> str: ...

    async def set_aside(self, task_id: str, attempt: int) -> None: ...

    async def write_metrics(self, report: MetricReport, summary_md: str) -> None: ...

    async def finish(self, status: str, error: str | None) -> None: ...


@attrs.frozen(kw_only=True, eq=False)
class Job:
    """One request, resolved: components built, limits set, nothing started yet.

    `harness` is None for the harness id `none`; `environments` holds every provider that a plan
    may name; `reporters` are told each event after the store.
    """

    request: RunRequest
    benchmark: Benchmark
    harness: Harness | None
    environments: Mapping[str, Environment]
    model: Model | None
    recipes: Sequence[Recipe] = ()
    limits: Limits
    retry: RetryPolicy
    data_dir: Path
    timeout_seconds: float | None
    open_store: Callable[[CleanupClock], AbstractAsyncContextManager[Store]]
    redactor: Redactor
    reporters: Sequence[Callable[[ProgressEvent], None]] = ()
    rng: random.Random = attrs.field(factory=random.Random)


@attrs.frozen(kw_only=True, eq=False)
class Run:
    """A job whose run directory is open; `said` is what needs no second word."""

    job: Job
    store: Store
    cleanup: CleanupClock
    said: set[str] = attrs.field(factory=set)

    def emit(self, event: ProgressEvent) -> None:
        """Tell the store, then the reporters, at once: order of events is order of facts."""
        self.store.emit(event)
        for report in self.job.reporters:
            report(event)
