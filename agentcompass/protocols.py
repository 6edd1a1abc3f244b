"""The seams on one screen: what the engine asks of a plug-in, and what it gives one.

A component is a class with `id`, `description` and `Config` (a frozen attrs class whose fields
are its parameters: each has `metadata={"help": ..., "unit": ...}`), built as `cls(config)`.
Coroutines are trio's; blocking work goes through `trio.to_thread.run_sync`.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import attrs

from agentcompass.deadlines import CleanupClock
from agentcompass.records.allowance import Allowance
from agentcompass.records.environment import (
    Capabilities as Capabilities,
)
from agentcompass.records.environment import (
    EnvironmentPlan,
    ExecResult,
    NetworkPolicy,
    Transfer,
    TransferLimits,
)
from agentcompass.records.exchange import RecordedReplies
from agentcompass.records.metrics import MetricContract
from agentcompass.records.model import Reply
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.progress import ProgressEvent
from agentcompass.records.request import Aggregation, ModelSpec
from agentcompass.records.task import EvaluationMode, PreparedTask, RunResult, TaskSpec
from agentcompass.records.unlisted import Unlisted


class Component(Protocol):
    """What every plug-in class has."""

    id: ClassVar[str]
    description: ClassVar[str]
    Config: ClassVar[type[Any]]


class Resource(Protocol):
    """One entry of a journal of what outlives this process, kept until it is known to be gone.

    `owner` tells this process from any other.
    """

    owner: str

    @property
    def id(self) -> str:
        """Unique, for the name of the sandbox."""
        ...

    @property
    def directory(self) -> str:
        """The run directory, absolute; empty where there is none."""
        ...

    async def opened(self, close_params: Mapping[str, Any]) -> None:
        """Note what is about to be made, and how it can be closed; before it is asked for."""
        ...

    async def releasing(self) -> None:
        """Note that it is being closed."""
        ...

    async def release_failed(self, error: str) -> None:
        """Note that it may be left over, and why."""
        ...

    async def released(self) -> None:
        """Note that it is gone."""
        ...


@attrs.frozen(kw_only=True)
class SessionRequest:
    """One session to open: the plan, who it is for (labels), and how its cleanup is bounded.

    A provider whose sandboxes outlive this process tells `resource` of each.
    """

    plan: EnvironmentPlan
    run_id: str
    task_id: str
    attempt: int
    role: str = "agent"
    cleanup: CleanupClock
    keep: bool = False
    resource: Resource = attrs.field(factory=Unlisted)


class Session(Protocol):
    """An open place to run commands. Paths are the task's, absolute or relative to `workdir`.

    Every method may raise `EnvironmentFailed`. A cancelled or timed-out `exec` has killed its whole
    process tree before it returns or raises. One that may be left over where its closing is cut
    off has a `name: str` as well, by which people find it: a folder, a container.
    """

    @property
    def workdir(self) -> str:
        """Where commands run unless told otherwise."""
        ...

    async def exec(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout_seconds: float | None = None,
        user: str | None = None,
    ) -> ExecResult:
        """Run a command (text: by `bash -c`, `sh -c` where there is no bash) to its end.

        The partial output of a command that ran out of `timeout_seconds` is in the result.
        """
        ...

    async def upload(self, source: Path, target: str) -> None:
        """Copy a host file, or the contents of a host folder, to `target`; parents are made."""
        ...

    async def download(
        self,
        source: str,
        target: Path,
        *,
        exclude: Sequence[str] = (),
        limits: TransferLimits | None = None,
    ) -> Transfer:
        """Copy a file, or the contents of a folder, to the host path `target`; modes are kept.

        Links stay links, and nothing is written outside `target`. `exclude` are shell patterns as
        `tar --exclude` has them: they match a path below `source` (of a file: its name) or any end
        of it that begins with a name, `*` also matches `/`, and what is below a folder goes with
        it. Raises `FileNotFoundError` where there is no `source`, and `ArtifactOverBudget` before
        more than a limit is on the host's disk.
        """
        ...

    async def read(self, path: str) -> bytes:
        """The bytes of one file; `FileNotFoundError` where there is none."""
        ...

    async def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Write one file, parents made."""
        ...

    async def set_network_policy(self, policy: NetworkPolicy) -> None:
        """Enforce `policy` from now on, also for processes that already run."""
        ...

    async def aclose(self) -> None:
        """End every process of the session and remove what it made."""
        ...


class Environment(Component, Protocol):
    """A provider of sessions."""

    capabilities: Capabilities
    sandbox_start_timeout: float | None
    operation_timeout: float | None

    async def preflight(self) -> None:
        """Raise `UsageError` where sessions cannot be opened at all, with the remedy."""
        ...

    def running(self, *, keep: bool) -> AbstractAsyncContextManager[None]:
        """What the provider needs beside its sessions; a request opens them inside only.

        `keep` is whether sessions are to outlive the request.
        """
        ...

    async def open(self, request: SessionRequest) -> Session:
        """Open a session; what was half made is gone when this raises or is cancelled."""
        ...


class Conversation(Protocol):
    """The model as one execution of one attempt talks to it."""

    async def complete(
        self, messages: Sequence[Mapping[str, Any]], *, tools: Sequence[Mapping[str, Any]] = ()
    ) -> Reply:
        """One reply to messages in OpenAI chat form.

        Raises `ModelFailed`, and `BudgetExhausted` in place of a call that may not be made.
        """
        ...

    def spent(self) -> Mapping[str, Any]:
        """What the calls so far took, failed ones too: `model` in the attempt's telemetry."""
        ...


class Model(Protocol):
    """A wire protocol, `id` being its name. An async context while a request uses it."""

    id: ClassVar[str]
    description: ClassVar[str]

    def __init__(
        self, spec: ModelSpec, *, replies: Path | RecordedReplies | None, connections: int
    ) -> None:
        """`replies` are for `replay`: what the benchmark ships, or what an earlier run recorded.

        `connections` calls run at once.
        """
        ...

    async def preflight(self) -> None:
        """Raise `UsageError` where no call could be made at all."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *exc: object) -> None: ...

    def conversation(self, task_id: str, attempt: int) -> Conversation:
        """A fresh conversation for one execution."""
        ...


@attrs.frozen(kw_only=True)
class AgentContext:
    """What a harness knows of the attempt that it serves, and how its own cleanup is bounded.

    `model` and `allowance` are for programs that talk to the endpoint themselves; all others use
    `conversation`, which counts for itself.
    """

    task: TaskSpec
    prepared: PreparedTask
    attempt: int
    plan: ExecutionPlan
    conversation: Conversation | None
    model: ModelSpec | None = None
    allowance: Allowance | None = None
    cleanup: CleanupClock = attrs.field(factory=lambda: CleanupClock(30.0))


class Agent(Protocol):
    """A started harness in one session."""

    async def run(self, result: RunResult) -> None:
        """Work on the task; fill `result` as it goes, since a deadline keeps what is in it."""
        ...

    async def collect(self, result: RunResult) -> None:
        """Bring in what the agent left in the sandbox; also after its deadline."""
        ...


class Harness(Component, Protocol):
    """How the agent loops."""

    needs_model: ClassVar[bool]
    protocols: ClassVar[Sequence[str]]
    default_run_timeout_seconds: ClassVar[float | None]

    def start(self, session: Session, context: AgentContext) -> AbstractAsyncContextManager[Agent]:
        """Make an agent ready; it is closed however the attempt ends."""
        ...


class Benchmark(Component, Protocol):
    """A data set and how it is scored.

    One that cannot be scored in every mode says by a set `evaluation_modes` in which it can.
    """

    evaluation_mode: EvaluationMode
    evaluation_timeout_metrics: Mapping[str, bool | float]
    replies: Path | None
    aggregation_mode: Aggregation
    category_hierarchy: Mapping[str, Any] | None

    def load_tasks(self, data_dir: Path) -> Sequence[TaskSpec]:
        """Every task, in order; blocking. Raises `UsageError` where the data set is not there."""
        ...

    def metric_contract(self) -> MetricContract:
        """What an attempt measures; asked after `load_tasks`."""
        ...

    async def prepare_task(
        self, task: TaskSpec, session: Session, plan: ExecutionPlan
    ) -> PreparedTask:
        """Lay out the task in the session, without anything of its verifier."""
        ...

    async def prepare_evaluation(
        self, task: TaskSpec, prepared: PreparedTask, plan: ExecutionPlan, session: Session | None
    ) -> None:
        """Lay out what scoring needs; bounded as operations, not by the verifier's deadline.

        `session` is the agent's (reuse), a new one with the artifacts restored (fresh), or None.
        """
        ...

    async def evaluate(
        self,
        task: TaskSpec,
        prepared: PreparedTask,
        result: RunResult,
        plan: ExecutionPlan,
        session: Session | None,
    ) -> None:
        """Score into `result.metrics`; raise `EvaluationFailed` where there is no verdict."""
        ...


class Recipe(Component, Protocol):
    """Adjusts a plan for the pairs that it knows; never runs anything.

    Tried by rising `priority`, then id: the highest has the last word, save for the user's own
    settings. One that is not `enabled_by_default` is tried where the user names it.
    """

    priority: ClassVar[int]
    enabled_by_default: ClassVar[bool]

    def matches(self, task: TaskSpec, plan: ExecutionPlan) -> bool:
        """Whether this recipe has something to say."""
        ...

    def apply(self, task: TaskSpec, plan: ExecutionPlan) -> ExecutionPlan:
        """The adjusted plan: of the same task, benchmark and harness."""
        ...


class Analyzer(Component, Protocol):
    """Looks at one attempt's result."""

    def analyze(self, task: TaskSpec, result: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """{is_badcase, details, score?, error?}, or None where it has nothing to say."""
        ...


class Reporter(Protocol):
    """Is told every event, in order, in the same synchronous stretch as the state change."""

    def emit(self, event: ProgressEvent) -> None:
        """Take note; never blocks, never raises."""
        ...
