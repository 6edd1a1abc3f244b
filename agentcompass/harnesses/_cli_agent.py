"""Runs a command-line agent in the environment, and reads what it printed, however it ended."""

import math
import shlex
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import attrs

from agentcompass.errors import EnvironmentFailed, HarnessFailed
from agentcompass.harnesses._cli_program import Launch, Program, Transcript, events_in, issue
from agentcompass.harnesses._packages import OWN_MACHINE, install_script
from agentcompass.harnesses._sums import Sums
from agentcompass.harnesses._text import bounded, task_text
from agentcompass.harnesses._trajectory import Trajectory
from agentcompass.protocols import AgentContext, Session
from agentcompass.records.environment import ExecResult
from agentcompass.records.model import Reply
from agentcompass.records.request import ModelSpec
from agentcompass.records.task import RunResult

_TAIL = 2000  # characters of stderr that are kept
# Below neither the workspace nor the home, and for its owner alone.
_PREPARE = """\
command -v {command} >/dev/null || exit 127
umask 077
mktemp -d "${{TMPDIR:-/tmp}}/agentcompass-agent.XXXXXX" || exit 1
{command} --version </dev/null 2>/dev/null | head -n 1
"""


def parameter(default: Any, help_text: str, unit: str = "") -> Any:
    """One parameter of a program, with what `config docs` says of it."""
    return attrs.field(default=default, metadata={"help": help_text, "unit": unit})


@attrs.frozen(kw_only=True)
class CliConfig:
    """How a program is installed; a subclass adds how it is started."""

    version: str = parameter("latest", "Of the npm package, where it has to be installed.")
    install_timeout: float = parameter(
        600.0, "Time to install it; 0 does not, and on host_process it is never installed.", "s"
    )


class CliHarness:
    """Starts one program for each execution; a subclass names it, with its `Config`."""

    id: ClassVar[str]
    program: ClassVar[type[Any]]
    needs_model: ClassVar[bool] = True
    default_run_timeout_seconds: ClassVar[float | None] = None

    def __init__(self, config: CliConfig) -> None:
        self.config = config

    def start(self, session: Session, context: AgentContext) -> "CliAgent":
        """An agent for one execution."""
        program = self.program(config=self.config)
        return _agent_of(program, self.id, self.config.install_timeout, session, context)


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
    install_seconds: float
    _folder: str = attrs.field(init=False, default="")
    _version: str = attrs.field(init=False, default="")
    _trajectory: Trajectory = attrs.field(init=False, factory=Trajectory)
    _ended: ExecResult | None = attrs.field(init=False, default=None)

    async def __aenter__(self) -> Self:
        """Find the program, or install it; raises `EnvironmentFailed`."""
        ended = await self._prepare()
        if ended.exit_code == 127:
            await self._install()
            ended = await self._prepare()
        said = ended.stdout.splitlines()
        if not ended.ok or not said:
            raise EnvironmentFailed(f"{self.program.command} cannot be started: {_said(ended)}")
        self._folder, self._version = said[0], " ".join(said[1:])
        return self

    async def __aexit__(self, *exc: object) -> None:
        return

    async def run(self, result: RunResult) -> None:
        """Let it work; only the run's own deadline bounds it."""
        result.trajectory = self._trajectory.record
        Sums.of(result)
        if unused := ", ".join(sorted(self.model.params)):
            message = f"{self.program.command} talks to the model itself, without {unused}"
            result.add_issue(issue("warning", "model_params_unused", message))
        launch = self.program.launch(self.model, self._folder)
        script = _script(launch, self._folder, self.prompt)
        self._ended = await self._sh(script, cwd=self.cwd, timeout_seconds=math.inf)

    async def collect(self, result: RunResult) -> None:
        """Take what it printed into the result, and remove what it was given."""
        try:
            printed = await self._printed("stdout")
            errors = (await self._printed("stderr")).decode(errors="replace")
        finally:
            await self._sh(f"rm -rf {shlex.quote(self._folder)}")
        transcript = self.program.read(events_in(printed))
        self._fill(result, transcript)
        code = None if self._ended is None else self._ended.exit_code
        result.artifacts[self.program.command] = {
            "version": self._version,
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

    async def _prepare(self) -> ExecResult:
        return await self._sh(_PREPARE.format(command=shlex.quote(self.program.command)))

    async def _install(self) -> None:
        if not self.install_seconds:
            raise EnvironmentFailed(
                f"{self.program.command} is not in the environment: install it there"
            )
        node = f"command -v npm >/dev/null || (\n{install_script('nodejs', 'npm')}\n) || exit 1"
        ended = await self.session.exec(
            f"{node}\n{self.program.install}", timeout_seconds=self.install_seconds
        )
        if not ended.ok:
            raise EnvironmentFailed(f"{self.program.command} cannot be installed: {_said(ended)}")

    async def _printed(self, name: str) -> bytes:
        try:
            return await self.session.read(f"{self._folder}/{name}")
        except FileNotFoundError:
            return b""

    async def _sh(self, script: str, **options: Any) -> ExecResult:
        # In a function: what it starts must not read on where the shell does.
        whole = f"main() {{\n{script}\n}}\nmain </dev/null\n"
        return await self.session.exec(
            ["sh"], stdin=whole.encode(errors="replace"), user=self.user, **options
        )


def _agent_of(
    program: Program, harness: str, install_seconds: float, session: Session, context: AgentContext
) -> CliAgent:
    """An agent for one execution; raises `HarnessFailed` without a model."""
    if context.model is None:
        raise HarnessFailed(f"{harness} needs a model")
    own = context.plan.environment.id == OWN_MACHINE
    return CliAgent(
        program=program,
        session=session,
        model=context.model,
        prompt=task_text(context.prepared.input),
        cwd=context.prepared.input.workspace,
        user=context.task.metadata.get("agent_user"),
        install_seconds=0.0 if own else install_seconds,
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


def _said(ended: ExecResult) -> str:
    if ended.timed_out:
        return "it took too long"
    return (ended.stderr.strip() or ended.stdout.strip())[-500:] or f"exit code {ended.exit_code}"
