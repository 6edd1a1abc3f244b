"""Runs a command-line agent in the environment, and reads what it printed, however it ended."""

import logging
import math
import shlex
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import attrs
import trio

from agentcompass.errors import HarnessFailed
from agentcompass.harnesses._cli_budget import settle, warn, within
from agentcompass.harnesses._cli_program import Launch, Program, Transcript, events_in, issue
from agentcompass.harnesses._cli_reach import caution
from agentcompass.harnesses._cli_setup import Setup
from agentcompass.harnesses._packages import OWN_MACHINE
from agentcompass.harnesses._parameters import at_least, parameter
from agentcompass.harnesses._script import run_script
from agentcompass.harnesses._sums import Sums
from agentcompass.harnesses._text import bounded, task_text
from agentcompass.harnesses._trajectory import Trajectory
from agentcompass.protocols import AgentContext, Session
from agentcompass.records.allowance import Allowance
from agentcompass.records.environment import ExecResult
from agentcompass.records.model import Reply
from agentcompass.records.request import ModelSpec
from agentcompass.records.task import RunResult

_TAIL = 2000  # characters of stderr that are kept

log = logging.getLogger(__name__)


@attrs.frozen(kw_only=True)
class CliConfig:
    """How a program is installed; a subclass adds how it is started."""

    version: str = parameter(
        "latest",
        "Of the npm package, which is installed where the program is missing, or where it is"
        " another one than an exact version such as 1.2.3.",
    )
    install_timeout: float = parameter(
        600.0,
        "Time to install it; 0 does not, and on host_process it is never installed.",
        unit="s",
        check=at_least(0),
    )


class CliHarness:
    """Starts one program for each execution; a subclass names it, with its `Config`."""

    id: ClassVar[str]
    program: ClassVar[type[Any]]
    needs_model: ClassVar[bool] = True
    talks_itself: ClassVar[bool] = True
    default_run_timeout_seconds: ClassVar[float | None] = None

    def __init__(self, config: CliConfig) -> None:
        self.config = config
        self._has_warned = False

    def start(self, session: Session, context: AgentContext) -> "CliAgent":
        """An agent for one execution."""
        program = self.program(config=self.config)
        if not self._has_warned:
            self._has_warned = True
            _warn(program, context)
        return _agent_of(program, self.id, self.config, session, context)


@attrs.define(kw_only=True, eq=False)
class CliAgent:
    """One run of one program. Its prompt, files and keys go in through stdin, never as arguments;
    what it prints goes to files, so that it is there after a deadline too.
    """

    program: Program
    session: Session
    model: ModelSpec
    prompt: str
    cwd: str | None
    user: str | None
    setup: Setup
    allowance: Allowance | None = None
    _trajectory: Trajectory = attrs.field(init=False, factory=Trajectory)
    _ended: ExecResult | None = attrs.field(init=False, default=None)

    async def __aenter__(self) -> Self:
        """Find the program, or install it; raises `EnvironmentFailed`."""
        await self.setup.ready()
        return self

    async def __aexit__(self, *exc: object) -> None:
        return

    async def run(self, result: RunResult) -> None:
        """Let it work; only the run's own deadline bounds it."""
        result.trajectory = self._trajectory.record
        Sums.of(result)
        if unused := ", ".join(sorted(self.model.params.keys() - {"prices"})):
            message = f"{self.program.command} talks to the model itself, without {unused}"
            result.add_issue(issue("warning", "model_params_unused", message))
        launch = self.program.launch(self.model, self.setup.folder)
        script = _script(launch, self.setup.folder, self.prompt)

        async def work() -> None:
            self._ended = await self._sh(script, cwd=self.cwd, timeout_seconds=math.inf)

        await within(self.allowance, work, self._transcript)

    async def collect(self, result: RunResult) -> None:
        """Take what it printed into the result, and remove what it was given."""
        try:
            printed = await self._printed("stdout")
            errors = (await self._printed("stderr")).decode(errors="replace")
        finally:
            await self._sh(f"rm -rf {shlex.quote(self.setup.folder)}")
        transcript = self.program.read(events_in(printed))
        self._fill(result, transcript)
        settle(self.allowance, transcript, result)
        code = None if self._ended is None else self._ended.exit_code
        result.artifacts[self.program.command] = {
            "version": self.setup.found_version,
            "exit_code": code,
            "stderr": errors[-_TAIL:],
        }
        if code and not transcript.issues:
            message = f"{self.program.command} ended with exit code {code}: {errors[-_TAIL:]}"
            result.add_issue(issue("error", "harness_failed", message.strip()))

    def _fill(self, result: RunResult, transcript: Transcript) -> None:
        sums = Sums(result.telemetry)
        for number, step in enumerate(transcript.steps):
            asked = self.prompt if number == 0 else ""
            reply = Reply(
                message=_bounded(step.message), finish_reason=step.finish_reason, usage=step.usage
            )
            sums.called()
            sums.replied(reply)
            observations = [_bounded(observation) for observation in step.observations]
            self._trajectory.add_past(reply, observations, user_content=asked)
        if (usage := transcript.usage) is not None:
            for name in ("prompt_tokens", "completion_tokens", "cached_tokens"):
                result.telemetry[name] = getattr(usage, name)
            result.telemetry["calls_without_usage"] = 0
        result.telemetry |= transcript.telemetry
        result.final_answer = transcript.answer
        for found in transcript.issues:
            result.add_issue(found)

    async def _transcript(self) -> Transcript:
        """What it printed so far."""
        printed = await self._printed("stdout")
        return await trio.to_thread.run_sync(self.program.read, events_in(printed))

    async def _printed(self, name: str) -> bytes:
        try:
            return await self.session.read(f"{self.setup.folder}/{name}")
        except FileNotFoundError:
            return b""

    async def _sh(self, script: str, **options: Any) -> ExecResult:
        return await run_script(self.session, script, user=self.user, **options)


def _warn(program: Program, context: AgentContext) -> None:
    """Say once in a run what its user may not expect."""
    if context.allowance is not None and context.allowance.limited:
        warn(program)
    if context.model and (said := caution(context.model.base_url, context.plan.environment.id)):
        log.warning("%s", said)


def _agent_of(
    program: Program, harness: str, config: CliConfig, session: Session, context: AgentContext
) -> CliAgent:
    """An agent for one execution; raises `HarnessFailed` without a model."""
    if context.model is None:
        raise HarnessFailed(f"{harness} needs a model")
    own = context.plan.environment.id == OWN_MACHINE
    user = context.task.metadata.get("agent_user")
    return CliAgent(
        program=program,
        session=session,
        model=context.model,
        prompt=task_text(context.prepared.input),
        cwd=context.prepared.input.workspace,
        user=user,
        setup=Setup(
            program=program,
            session=session,
            user=user,
            version=config.version,
            seconds=0.0 if own else config.install_timeout,
        ),
        allowance=context.allowance,
    )


def _script(launch: Launch, folder: str, prompt: str) -> str:
    files = {"prompt": prompt, **launch.files}
    writes = [f"printf %s {shlex.quote(text)} > {name}" for name, text in files.items()]
    exports = [f"export {name}={shlex.quote(text)}" for name, text in launch.variables.items()]
    command = " ".join(map(shlex.quote, launch.argv))
    where = shlex.quote(folder)
    return "\n".join(
        (
            f"( umask 077; cd {where} || exit 1\n" + "\n".join((*writes, ": > stdout; : > stderr")),
            ") || exit 1",
            *exports,
            f"{command} < {where}/prompt > {where}/stdout 2> {where}/stderr",
        )
    )


def _bounded(message: Mapping[str, Any]) -> dict[str, Any]:
    return {name: bounded(value) for name, value in message.items()}
