"""Plug-ins that say every secret they could know, in every layer and in every way they can.

$PLANTED names a file with the secrets: what reaches a plug-in by its parameters, the plan, the task
or the environment is one thing, and what it then does with it another.
"""

import base64
import json
import logging
import os
import warnings
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import attrs
import trio

from agentcompass.environments.fake import (
    FakeCommand,
    FakeConfig,
    FakeEnvironment,
    FakeScript,
    FakeSession,
)
from agentcompass.errors import EnvironmentFailed, EvaluationFailed, HarnessFailed, UsageError
from agentcompass.protocols import AgentContext, Session, SessionRequest
from agentcompass.records.environment import ExecResult
from agentcompass.records.issue import Issue
from agentcompass.records.metrics import MetricContract, binary_contract
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.request import Aggregation
from agentcompass.records.task import EvaluationMode, PreparedTask, RunResult, TaskInput, TaskSpec

# Where a task's layer breaks: each with an error of ours, and with a bug.
LAYERS = (
    "open",
    "prepare",
    "start",
    "run",
    "collect",
    "lay_out",
    "evaluate",
    "close",
    "close_agent",
)
WAYS = ("ours", "bug")

ours = logging.getLogger("agentcompass.leaky")
foreign = logging.getLogger("leaky")


def planted() -> list[str]:
    return json.loads(Path(os.environ["PLANTED"]).read_text())


def said() -> str:
    """Every secret, as it is and as text of all kinds has it."""
    return " ".join(form for secret in planted() for form in forms(secret))


def said_early() -> str:
    """The same before there are tasks, of which the last secret is."""
    return " ".join(form for secret in planted()[:-1] for form in forms(secret))


def forms(secret: str) -> Iterator[str]:
    yield secret
    yield json.dumps({"key": secret})
    yield json.dumps(json.dumps([secret]))
    yield repr([secret])
    yield quote(secret, safe="")
    yield f"https://user:{quote(secret, safe='')}@host/?api_key={quote(secret, safe='')}"
    yield "Basic " + base64.b64encode(f"user:{secret}".encode()).decode()
    yield f"Authorization: Bearer {secret}"


def talk() -> None:
    """Say it where programs talk while they work."""
    for logger in (ours, foreign):
        logger.debug("%s", said())
        logger.info(said())
        logger.warning("all of it: %(all)s", {"all": planted()})
        try:
            raise KeyError(said())
        except KeyError:
            logger.exception("a fault with %r", planted())
    warnings.warn(said(), stacklevel=2)


def fail(layer: str, task_id: str, kind: type[Exception]) -> None:
    """Break if the task is about this layer."""
    about, _, way = task_id.partition("/")
    if about != layer:
        return
    talk()
    if way == "ours":
        raise kind(said())
    try:
        raise ExceptionGroup(said(), [ValueError(said()), OSError(5, said(), said())])
    except ExceptionGroup as error:
        bug = LookupError({"headers": planted(), "text": said()})
        bug.add_note(said())
        raise bug from error


@attrs.frozen(kw_only=True)
class Judge:
    api_key: str = ""


def _leaky(_instance: object, _attribute: object, value: str) -> None:
    if value == "config":
        raise ValueError(said_early())


@attrs.frozen(kw_only=True)
class BenchmarkConfig:
    judge: Judge = Judge()
    breaks: str = attrs.field(default="", validator=_leaky)
    only: tuple[str, ...] | None = None


class LeakyBenchmark:
    id: ClassVar[str] = "leaky"
    description: ClassVar[str] = "says every secret"
    Config: ClassVar[type[Any]] = BenchmarkConfig
    evaluation_mode: EvaluationMode = "fresh"
    evaluation_timeout_metrics: Mapping[str, bool | float] = {}
    replies: Path | None = None
    aggregation_mode: Aggregation = "micro_weighted"
    category_hierarchy: Mapping[str, Any] | None = None

    def __init__(self, config: BenchmarkConfig) -> None:
        self.config = config

    def load_tasks(self, data_dir: Path) -> Sequence[TaskSpec]:
        if self.config.breaks == "load":
            raise UsageError(said_early())
        if self.config.breaks == "load_bug":
            raise KeyError(said_early())
        names = [f"{layer}/{way}" for layer in LAYERS for way in WAYS]
        return [_task(name) for name in self.config.only or (*names, "good", "error", "no_verdict")]

    def metric_contract(self) -> MetricContract:
        return binary_contract()

    async def prepare_task(
        self, task: TaskSpec, session: Session, plan: ExecutionPlan
    ) -> PreparedTask:
        fail("prepare", task.task_id, EnvironmentFailed)
        return PreparedTask(
            task_id=task.task_id,
            ground_truth=said(),
            input=TaskInput(prompt=said(), messages=({"role": "user", "content": said()},)),
            metadata={"seen": planted(), said(): "as a name"},
        )

    async def prepare_evaluation(
        self, task: TaskSpec, prepared: PreparedTask, plan: ExecutionPlan, session: Session | None
    ) -> None:
        fail("lay_out", task.task_id, EvaluationFailed)

    async def evaluate(
        self,
        task: TaskSpec,
        prepared: PreparedTask,
        result: RunResult,
        plan: ExecutionPlan,
        session: Session | None,
    ) -> None:
        talk()
        fail("evaluate", task.task_id, EvaluationFailed)
        result.extra["judged"] = {"headers": {"authorization": said()}, "text": said()}
        result.meta = {"notes": [said()], "judge": attrs.asdict(self.config)}
        if task.task_id == "no_verdict":
            raise EvaluationFailed(f"retry me: {said()}")
        result.metrics["correct"] = True


def _task(name: str) -> TaskSpec:
    """A task that hands a secret of its own, the last one, to its sandbox."""
    return TaskSpec(
        task_id=name,
        instruction=said(),
        ground_truth={"answer": said()},
        env_variables={"TASK_TOKEN": planted()[-1], "PLAIN": said()},
        metadata={"row": said()},
        warnings=(said(),),
    )


@attrs.frozen(kw_only=True)
class HarnessConfig:
    token: str = ""


class LeakyHarness:
    id: ClassVar[str] = "leaky"
    description: ClassVar[str] = "says every secret"
    Config: ClassVar[type[Any]] = HarnessConfig
    needs_model: ClassVar[bool] = True
    protocols: ClassVar[Sequence[str]] = ("openai-chat",)
    default_run_timeout_seconds: ClassVar[float | None] = None

    def __init__(self, config: HarnessConfig) -> None:
        self.config = config

    @asynccontextmanager
    async def start(self, session: Session, context: AgentContext) -> AsyncIterator["LeakyAgent"]:
        task_id = context.task.task_id
        fail("start", task_id, HarnessFailed)
        yield LeakyAgent(session=session, context=context)
        fail("close_agent", task_id, HarnessFailed)


@attrs.frozen(kw_only=True, eq=False)
class LeakyAgent:
    session: Session
    context: AgentContext

    async def run(self, result: RunResult) -> None:
        talk()
        printed = await self.session.exec("env")
        result.final_answer = {"said": said(), said(): [printed.stdout]}
        result.trajectory = {"steps": [{"env": printed.stdout, "observation": said()}]}
        result.artifacts["log"] = {"text": said(), "secrets": planted(), said(): 1}
        result.telemetry["note"] = said()
        result.extra["note"] = said()
        await self.session.write("/logs/artifacts/env.txt", printed.stdout.encode())
        if self.context.task.task_id == "hang":
            Path("hangs").touch()
            await trio.sleep_forever()
        fail("run", self.context.task.task_id, HarnessFailed)
        if self.context.task.task_id == "error":
            text = f"retry me: {said()}"
            result.add_issue(Issue(severity="error", phase="run", code="run_failed", message=text))

    async def collect(self, result: RunResult) -> None:
        fail("collect", self.context.task.task_id, HarnessFailed)


@attrs.frozen(kw_only=True)
class EnvironmentConfig(FakeConfig):
    password: str = ""
    breaks: str = ""


class LeakyEnvironment(FakeEnvironment):
    id: ClassVar[str] = "leaky"
    description: ClassVar[str] = "says every secret"
    Config: ClassVar[type[Any]] = EnvironmentConfig

    def __init__(self, config: EnvironmentConfig) -> None:
        super().__init__(config, script_for=_script, handler=_print_variables)
        self.breaks = config.breaks

    async def preflight(self) -> None:
        if self.breaks == "preflight":
            raise UsageError(said_early())

    async def open(self, request: SessionRequest) -> FakeSession:
        fail("open", request.task_id, EnvironmentFailed)
        return await super().open(request)


def _script(request: SessionRequest) -> FakeScript:
    closes = not request.task_id.startswith("close/")
    return FakeScript() if closes else FakeScript(fails={"close": said()})


def _print_variables(asked: FakeCommand) -> ExecResult:
    """What `env` prints."""
    variables = asked.request.plan.env_variables.items()
    text = "\n".join(f"{name}={value}" for name, value in variables)
    return ExecResult(exit_code=0, stdout=text, stderr=said())
