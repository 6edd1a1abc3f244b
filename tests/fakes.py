"""Fakes at the engine's seams: a scripted world on trio's clock, and a run directory in memory."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from pathlib import Path
from typing import Any, ClassVar

import attrs
import trio

from agentcompass.deadlines import CleanupClock
from agentcompass.engine.job import Job
from agentcompass.engine.limits import Limits, set_provider_limits
from agentcompass.engine.lines import Tokens
from agentcompass.engine.retry import retry_policy
from agentcompass.errors import EnvironmentFailed, EvaluationFailed, HarnessFailed
from agentcompass.protocols import AgentContext, Capabilities, Session, SessionRequest
from agentcompass.records.attempt import AttemptResult, TaskHeader
from agentcompass.records.checkpoint import EvaluationCheckpoint, RetryDetail
from agentcompass.records.environment import ExecResult, NetworkPolicy, Transfer
from agentcompass.records.issue import Issue
from agentcompass.records.metrics import MetricContract, MetricReport, binary_contract
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.progress import ProgressEvent
from agentcompass.records.request import (
    AttemptPlan,
    ComponentSpec,
    EnvironmentSpec,
    ExecutionOptions,
    ModelSpec,
    RunRequest,
)
from agentcompass.records.task import EvaluationMode, PreparedTask, RunResult, TaskSpec
from agentcompass.records.unlisted import Unlisted
from agentcompass.store.redact import Redactor

FAULTS = ("", "error", "fatal", "bug")


@attrs.frozen(kw_only=True)
class Script:
    """What one execution of one attempt does: seconds of each stretch, and how it goes wrong.

    `agent` is one of FAULTS; `scoring` too, and `verdict` is the outcome where scoring gives one.
    """

    open_seconds: float = 0.0
    open_fails: bool = False
    run_seconds: float = 1.0
    agent: str = ""
    score_seconds: float = 0.0
    scoring: str = ""
    verdict: bool = True
    close_seconds: float = 0.0


@attrs.frozen(kw_only=True)
class Scripted:
    """A task with the scripts of its executions, by attempt number; the last one repeats."""

    task_id: str
    scripts: Mapping[int, Sequence[Script]] = attrs.field(factory=dict)
    provider: str = "P"
    verifier: str | None = None
    mode: EvaluationMode = "none"
    category: str | None = None

    def script(self, attempt: int, execution: int) -> Script:
        scripts = self.scripts.get(attempt) or self.scripts.get(1) or (Script(),)
        return scripts[min(execution, len(scripts) - 1)]


@attrs.define(eq=False)
class World:
    """Everything scripted, and the ledger of what happened, by trio's clock."""

    tasks: Mapping[str, Scripted]
    live: dict[str, int] = attrs.field(factory=dict)
    peak: dict[str, int] = attrs.field(factory=dict)
    running: int = 0
    peak_running: int = 0
    opened: int = 0
    closed: int = 0
    opens: dict[str, list[float]] = attrs.field(factory=dict)
    agent_runs: dict[tuple[str, int], int] = attrs.field(factory=dict)
    scorings: dict[tuple[str, int], int] = attrs.field(factory=dict)
    executions: dict[tuple[str, int], int] = attrs.field(factory=dict)
    busy: int = 0

    async def spend(self, seconds: float) -> None:
        """Take scripted time, counted as busy: it is what a slot is for."""
        self.busy += 1
        try:
            await trio.sleep(seconds)
        finally:
            self.busy -= 1

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Count who runs an agent or scores."""
        self.running += 1
        self.peak_running = max(self.peak_running, self.running)
        try:
            yield
        finally:
            self.running -= 1

    def script(self, task_id: str, attempt: int) -> Script:
        execution = self.executions.get((task_id, attempt), 1) - 1
        return self.tasks[task_id].script(attempt, execution)


@attrs.define(eq=False)
class ScriptedSession:
    world: World
    provider: str
    request: SessionRequest
    workdir: str = "/app"
    _open: bool = True

    async def exec(self, command: str | Sequence[str], **_: Any) -> ExecResult:
        return ExecResult(exit_code=0)

    async def upload(self, source: Path, target: str) -> None: ...

    async def download(self, source: str, target: Path, **_: Any) -> Transfer:
        raise FileNotFoundError(source)

    async def read(self, path: str) -> bytes:
        raise FileNotFoundError(path)

    async def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None: ...

    async def set_network_policy(self, policy: NetworkPolicy) -> None: ...

    async def aclose(self) -> None:
        script = self.world.script(self.request.task_id, self.request.attempt)
        try:
            await self.world.spend(script.close_seconds)
        finally:
            if self._open:
                self._open = False
                self.world.closed += 1
                self.world.live[self.provider] -= 1


@attrs.define(eq=False)
class ScriptedEnvironment:
    """A provider whose sessions take the seconds of the script."""

    world: World
    id: str
    sandbox_start_timeout: float | None = None
    operation_timeout: float | None = None
    capabilities: Capabilities = Capabilities()
    description: ClassVar[str] = "scripted"
    Config: ClassVar[type[Any]] = object

    async def preflight(self) -> None: ...

    def running(self, *, keep: bool) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def open(self, request: SessionRequest) -> Session:
        world, key = self.world, (request.task_id, request.attempt)
        if request.role == "agent":
            world.executions[key] = world.executions.get(key, 0) + 1
        script = world.script(*key)
        world.opens.setdefault(self.id, []).append(trio.current_time())
        live = world.live[self.id] = world.live.get(self.id, 0) + 1
        world.peak[self.id] = max(world.peak.get(self.id, 0), live)
        world.opened += 1
        try:
            await world.spend(script.open_seconds)
            if script.open_fails:
                raise EnvironmentFailed("sandbox quota temporarily exceeded")
        except BaseException:
            world.live[self.id] -= 1
            world.closed += 1
            raise
        return ScriptedSession(world, self.id, request)


def _fault(kind: str, where: str, failed: type[Exception]) -> None:
    if kind == "fatal":
        raise failed(f"{where} broke")
    if kind == "bug":
        raise ZeroDivisionError(f"a bug in {where}")


@attrs.define(eq=False)
class ScriptedHarness:
    world: World
    id: ClassVar[str] = "scripted"
    description: ClassVar[str] = "scripted"
    Config: ClassVar[type[Any]] = object
    needs_model: ClassVar[bool] = False
    protocols: ClassVar[Sequence[str]] = ()
    default_run_timeout_seconds: ClassVar[float | None] = None

    @asynccontextmanager
    async def start(
        self, session: Session, context: AgentContext
    ) -> AsyncIterator["ScriptedAgent"]:
        yield ScriptedAgent(self.world, context)


@attrs.define(eq=False)
class ScriptedAgent:
    world: World
    context: AgentContext

    async def run(self, result: RunResult) -> None:
        key = (self.context.task.task_id, self.context.attempt)
        self.world.agent_runs[key] = self.world.agent_runs.get(key, 0) + 1
        script = self.world.script(*key)
        result.extra["attempt"] = self.context.attempt
        with self.world.at_work():
            await self.world.spend(script.run_seconds)
        result.final_answer = "done"
        _fault(script.agent, "the agent", HarnessFailed)
        if script.agent == "error":
            result.add_issue(
                Issue(severity="error", phase="run", code="model_failed", message="rate limit")
            )

    async def collect(self, result: RunResult) -> None: ...


@attrs.define(eq=False)
class ScriptedBenchmark:
    world: World
    evaluation_mode: EvaluationMode = "none"
    evaluation_timeout_metrics: Mapping[str, bool | float] = attrs.field(factory=dict)
    contract: MetricContract = attrs.field(factory=binary_contract)
    replies: Path | None = None
    aggregation_mode: str = "micro_weighted"
    category_hierarchy: Mapping[str, Any] | None = None
    lay_out_seconds: float = 0.0
    id: ClassVar[str] = "scripted"
    description: ClassVar[str] = "scripted"
    Config: ClassVar[type[Any]] = object

    def load_tasks(self, data_dir: Path) -> Sequence[TaskSpec]:
        return [
            TaskSpec(task_id=task.task_id, category=task.category, evaluation_mode=task.mode)
            for task in self.world.tasks.values()
        ]

    def metric_contract(self) -> MetricContract:
        return self.contract

    async def prepare_task(
        self, task: TaskSpec, session: Session, plan: ExecutionPlan
    ) -> PreparedTask:
        return PreparedTask(task_id=task.task_id)

    async def prepare_evaluation(
        self,
        task: TaskSpec,
        prepared: PreparedTask,
        plan: ExecutionPlan,
        session: Session | None,
    ) -> None:
        await self.world.spend(self.lay_out_seconds)

    async def evaluate(
        self,
        task: TaskSpec,
        prepared: PreparedTask,
        result: RunResult,
        plan: ExecutionPlan,
        session: Session | None,
    ) -> None:
        key = (task.task_id, result.extra["attempt"])
        self.world.scorings[key] = self.world.scorings.get(key, 0) + 1
        script = self.world.script(*key)
        with self.world.at_work():
            await self.world.spend(script.score_seconds)
        _fault(script.scoring, "the scorer", EvaluationFailed)
        if script.scoring == "error":
            raise EvaluationFailed("no verdict")
        result.metrics["correct"] = script.verdict


@attrs.frozen
class RouteRecipe:
    """Sends each task to the providers that its script names."""

    world: World
    id: ClassVar[str] = "route"
    description: ClassVar[str] = "scripted"
    Config: ClassVar[type[Any]] = object
    priority: ClassVar[int] = 0
    enabled_by_default: ClassVar[bool] = True

    def matches(self, task: TaskSpec, plan: ExecutionPlan) -> bool:
        return True

    def apply(self, task: TaskSpec, plan: ExecutionPlan) -> ExecutionPlan:
        scripted = self.world.tasks[task.task_id]
        environment = attrs.evolve(plan.environment, id=scripted.provider)
        verifier = attrs.evolve(environment, id=scripted.verifier or scripted.provider)
        return attrs.evolve(plan, environment=environment, evaluation_environment=verifier)


@attrs.define(eq=False)
class MemoryStore:
    """A run directory that forgets nothing; `fails` names the methods that raise, and with what."""

    directory: Path = Path("/memory/run")
    run_id: str = "run"
    events: list[ProgressEvent] = attrs.field(factory=list)
    plans: dict[tuple[str, int], Mapping[str, Any]] = attrs.field(factory=dict)
    attempts: dict[tuple[str, int], AttemptResult] = attrs.field(factory=dict)
    published: dict[str, str] = attrs.field(factory=dict)
    interrupted: dict[tuple[str, int], str] = attrs.field(factory=dict)
    checkpoints: list[EvaluationCheckpoint] = attrs.field(factory=list)
    retries: list[RetryDetail] = attrs.field(factory=list)
    set_aside_attempts: list[tuple[str, int]] = attrs.field(factory=list)
    run_info: dict[str, Any] = attrs.field(factory=dict)
    report: MetricReport | None = None
    summary: str = ""
    status: str | None = None
    error: str | None = None
    fails: Mapping[str, Exception] = attrs.field(factory=dict)
    closed: bool = False

    def _may_fail(self, method: str) -> None:
        if method in self.fails:
            raise self.fails[method]

    def emit(self, event: ProgressEvent) -> None:
        assert not self.closed
        self.events.append(event)

    async def flush(self) -> None:
        await trio.lowlevel.checkpoint()

    def record_plan(self, task_id: str, attempt: int, plan: Mapping[str, Any]) -> None:
        self.plans[task_id, attempt] = plan

    async def update_run_info(self, **fields: Any) -> None:
        self.run_info.update(fields)

    def resource(self, provider: str, task_id: str, attempt: int) -> Unlisted:
        return Unlisted()

    def artifacts_dir(self, task_id: str, attempt: int) -> Path:
        return self.directory / "details" / "running" / task_id / f"attempt-{attempt}" / "artifacts"

    async def save_evaluation_checkpoint(
        self, header: TaskHeader, checkpoint: EvaluationCheckpoint
    ) -> None:
        self._may_fail("save_evaluation_checkpoint")
        self.checkpoints.append(checkpoint)

    async def save_attempt(self, header: TaskHeader, attempt: int, result: AttemptResult) -> None:
        self._may_fail("save_attempt")
        assert (header.task_id, attempt) not in self.attempts
        self.attempts[header.task_id, attempt] = result

    async def save_interrupted(
        self, header: TaskHeader, attempt: int, *, phase: str, retries: int
    ) -> None:
        self.interrupted[header.task_id, attempt] = phase

    async def publish_task(self, header: TaskHeader, severity: str) -> None:
        self._may_fail("publish_task")
        assert header.task_id not in self.published
        self.published[header.task_id] = severity

    async def save_task(
        self, header: TaskHeader, results: Mapping[int, AttemptResult], severity: str
    ) -> None:
        for number, result in results.items():
            await self.save_attempt(header, number, result)
        await self.publish_task(header, severity)

    async def save_retry(self, detail: RetryDetail) -> str:
        self.retries.append(detail)
        return f"retries/{len(self.retries)}"

    async def set_aside(self, task_id: str, attempt: int) -> None:
        self.set_aside_attempts.append((task_id, attempt))

    async def write_metrics(self, report: MetricReport, summary_md: str) -> None:
        self._may_fail("write_metrics")
        self.report, self.summary = report, summary_md

    async def finish(self, status: str, error: str | None, **fields: Any) -> None:
        self._may_fail("finish")
        assert self.status is None
        self.run_info.update(fields)
        self.status, self.error = status, error


def opener(
    store: MemoryStore,
) -> Callable[[CleanupClock], AbstractAsyncContextManager[MemoryStore]]:
    """What a job opens: this very store."""

    @asynccontextmanager
    async def open_store(_clock: CleanupClock) -> AsyncIterator[MemoryStore]:
        yield store
        store.closed = True

    return open_store


def make_job(
    world: World,
    store: MemoryStore,
    *,
    slots: int = 32,
    provider_limits: Mapping[str, int | None] | None = None,
    env_open_qps: Mapping[str, float | None] | None = None,
    timeout_seconds: float | None = None,
    providers: Iterable[ScriptedEnvironment] | None = None,
    attempts: AttemptPlan | None = None,
    benchmark: ScriptedBenchmark | None = None,
    **execution: Any,
) -> Job:
    """A job on the scripted world; call it inside the trio run, where provider limits live."""
    set_provider_limits(provider_limits or {}, {"P": None, "Q": None, **(env_open_qps or {})})
    options = ExecutionOptions(
        task_concurrency=slots,
        attempts=attempts or AttemptPlan(),
        **{"retry_min_delay_seconds": 5.0, **execution},
    )
    found = providers or [ScriptedEnvironment(world, "P"), ScriptedEnvironment(world, "Q")]
    return Job(
        request=RunRequest(
            benchmark=ComponentSpec(id="scripted"),
            harness=ComponentSpec(id="scripted"),
            model=ModelSpec(id="none"),
            environment=EnvironmentSpec(id="P"),
            execution=options,
        ),
        benchmark=benchmark or ScriptedBenchmark(world),
        harness=ScriptedHarness(world),
        environments={provider.id: provider for provider in found},
        model=None,
        recipes=(RouteRecipe(world),),
        limits=Limits(Tokens(slots)),
        retry=retry_policy(options),
        data_dir=Path("/memory/data"),
        timeout_seconds=timeout_seconds,
        open_store=opener(store),
        redactor=Redactor(()),
    )
