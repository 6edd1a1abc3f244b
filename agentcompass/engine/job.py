"""What the levels of a request share: the job as it was resolved, and the run while it is open."""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol

import attrs
import trio

from agentcompass.abilities import StartsAgents
from agentcompass.deadlines import CleanupClock
from agentcompass.engine.budget import Account, run_account
from agentcompass.engine.limits import Limits
from agentcompass.engine.plan_memory import PlanMemory
from agentcompass.engine.plan_record import PlanRecords
from agentcompass.engine.retry import RetryPolicy
from agentcompass.protocols import Benchmark, Environment, Harness, Model, Recipe, Resource
from agentcompass.records.attempt import AttemptResult, TaskHeader
from agentcompass.records.checkpoint import EvaluationCheckpoint, RetryDetail
from agentcompass.records.exchange import Asked, Exchange
from agentcompass.records.metrics import MetricContract, MetricReport
from agentcompass.records.progress import PLACE, ProgressEvent, with_payload
from agentcompass.records.request import RunRequest
from agentcompass.records.reuse import TakenOver
from agentcompass.records.run_info import MetricBasis
from agentcompass.store.earlier_run import Judge
from agentcompass.store.redact import Redactor
from agentcompass.store.reuse_source import ReuseSource


class Exchanges(Protocol):
    """Where the model's calls of one execution are recorded."""

    async def append(self, exchange: Exchange, asked: Asked) -> None: ...


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

    def resource(self, provider: str, task_id: str, attempt: int) -> Resource: ...

    def exchanges(self, task_id: str, attempt: int) -> Exchanges: ...

    def artifacts_dir(self, task_id: str, attempt: int) -> Path: ...

    async def save_evaluation_checkpoint(
        self, header: TaskHeader, checkpoint: EvaluationCheckpoint
    ) -> None: ...

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

    async def take_over(
        self,
        source: ReuseSource,
        headers: Sequence[TaskHeader],
        judge: Judge,
        taken: dict[str, TakenOver],
    ) -> None: ...

    async def load_evaluation(self, task_id: str, attempt: int) -> EvaluationCheckpoint | None: ...

    async def write_metrics(self, report: MetricReport, summary_md: str) -> None: ...

    async def finish(self, status: str, error: str | None, **fields: Any) -> None: ...


class Data(Protocol):
    """The data set that a benchmark measures on; `datasets.for_run.RunData` is the real one."""

    async def ready(self) -> None:
        """Have it in its folder; raises `UsageError` where it cannot be."""
        ...

    def record(self) -> Mapping[str, Any]:
        """Which one it is, for run_info.json. Blocking."""
        ...


@attrs.frozen(kw_only=True, eq=False)
class Job:
    """One request, resolved: components built, limits set, nothing started yet.

    `harness` is None for the harness id `none`; `environments` holds every provider that a plan
    may name; `reporters` are told each event after the store. `find_source`, which blocks, is None
    unless an earlier run is to be reused; it is given the ids of the tasks. `data` is None where
    the benchmark has no public data set. `ends_at`, on trio's clock, is the end of the
    orchestration that the request belongs to; `timeout_seconds` is then the orchestration's.
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
    data: Data | None = None
    timeout_seconds: float | None
    ends_at: float | None = None
    open_store: Callable[[CleanupClock], AbstractAsyncContextManager[Store]]
    redactor: Redactor
    find_source: Callable[[Sequence[str], Judge], ReuseSource] | None = None
    reporters: Sequence[Callable[[ProgressEvent], None]] = ()
    rng: random.Random = attrs.field(factory=random.Random)

    def deadline(self) -> float:
        """When, on trio's clock, a request that begins now has to end; infinity is never."""
        if self.ends_at is not None:
            return self.ends_at
        limit = self.timeout_seconds
        return math.inf if limit is None else trio.current_time() + limit


@attrs.define(eq=False)
class Attempts:
    """Attempts by task id and number: without a pair for each, since there may be many."""

    _tasks: dict[int, set[str]] = attrs.field(factory=dict, init=False)

    def add(self, attempt: tuple[str, int]) -> None:
        """Take it in, once."""
        task_id, number = attempt
        self._tasks.setdefault(number, set()).add(task_id)

    def __contains__(self, attempt: tuple[str, int]) -> bool:
        task_id, number = attempt
        return task_id in self._tasks.get(number, ())

    def __len__(self) -> int:
        return sum(map(len, self._tasks.values()))


@attrs.define(kw_only=True, eq=False)
class Run:
    """A job whose run directory is open.

    `basis` is what its benchmark measures, and `contract` what of it an attempt may report.
    `taken_over` is what earlier runs gave to tasks that go on, by task id, and `reused` counts all
    attempts that they finished; `executed` and `resumed` are the attempts
    (task id and number) that were begun here, `unsaved` the tasks that could not be written; `said`
    is what needs no second word, and `account` has what the model calls of this run took.
    `starts_agents` is the benchmark, where it stands between engine and harness.
    """

    job: Job
    store: Store
    cleanup: CleanupClock
    basis: MetricBasis
    source: ReuseSource | None = None
    taken_over: dict[str, TakenOver] = attrs.field(factory=dict)
    reused: int = 0
    executed: Attempts = attrs.field(factory=Attempts)
    resumed: set[tuple[str, int]] = attrs.field(factory=set)
    unsaved: list[str] = attrs.field(factory=list)
    said: set[str] = attrs.field(factory=set)
    recipes: set[str] = attrs.field(factory=set)
    plans: PlanMemory = attrs.field(factory=PlanMemory)
    records: PlanRecords = attrs.field(factory=PlanRecords)
    account: Account = attrs.field()
    contract: MetricContract = attrs.field(init=False)
    starts_agents: StartsAgents | None = attrs.field(init=False)
    _place: Mapping[str, Any] = attrs.field(init=False)

    @_place.default
    def _find_place(self) -> Mapping[str, Any]:
        metadata = self.job.request.metadata
        return {name: metadata[name] for name in PLACE if name in metadata}

    @contract.default
    def _declared(self) -> MetricContract:
        return self.basis.contract

    @starts_agents.default
    def _find_between(self) -> StartsAgents | None:
        benchmark = self.job.benchmark  # asked once, since to ask takes long
        return benchmark if isinstance(benchmark, StartsAgents) else None

    @account.default
    def _new_account(self) -> Account:
        model = self.job.model
        replayed = model is not None and model.id == "replay"
        return run_account(self.job.request.execution.run_budget, replayed=replayed)

    def emit(self, event: ProgressEvent) -> None:
        """Tell the store, then the reporters, at once: order of events is order of facts."""
        if self._place:
            event = attrs.evolve(event, **self._place)
        self.store.emit(event)
        if self.job.reporters:
            # A copy, since a program may change what it is told, and the store writes it later.
            shown = with_payload(event, self.job.redactor.record(event.payload))
            for report in self.job.reporters:
                report(shown)
