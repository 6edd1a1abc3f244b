"""The loop of mini-swe-agent 2.4 on trio: ask the model, run its commands, until it submits."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import attrs
import trio

from agentcompass.errors import AgentCompassError, HarnessFailed
from agentcompass.harnesses import _mini_templates as templates
from agentcompass.harnesses._base import PlainAgent
from agentcompass.harnesses._mini_actions import (
    BASH_TOOL,
    Action,
    BadFormat,
    read_calls,
    read_fenced,
)
from agentcompass.harnesses._mini_config import MiniConfig
from agentcompass.harnesses._mini_history import assistant_message, sendable
from agentcompass.harnesses._mini_record import Record
from agentcompass.harnesses._mini_shell import Output, Shell
from agentcompass.harnesses._sums import PROTOCOLS
from agentcompass.harnesses._text import task_text
from agentcompass.harnesses._trajectory import now
from agentcompass.protocols import AgentContext, Conversation, Session
from agentcompass.records.issue import Issue
from agentcompass.records.model import Reply
from agentcompass.records.task import PreparedTask, RunResult


class MiniSweAgent:
    """Our own loop, compatible with mini-swe-agent 2.4; its commands run in the session.

    A limit of the loop's own is a WARNING: what the agent did until then is its result.
    """

    id: ClassVar[str] = "mini_swe_agent"
    description: ClassVar[str] = "mini-swe-agent 2.4's loop, built in: a model with a bash shell"
    Config: ClassVar[type[Any]] = MiniConfig
    needs_model: ClassVar[bool] = True
    protocols: ClassVar[Sequence[str]] = PROTOCOLS
    default_run_timeout_seconds: ClassVar[float | None] = None

    def __init__(self, config: MiniConfig) -> None:
        self.config = config

    def start(self, session: Session, context: AgentContext) -> "MiniAgent":
        """An agent for one execution."""
        if context.conversation is None:
            raise HarnessFailed("mini_swe_agent needs a model")
        prepared = context.prepared
        return MiniAgent(
            config=self.config,
            conversation=context.conversation,
            prepared=prepared,
            session=session,
            shell=Shell(
                session=session,
                cwd=self.config.cwd or prepared.input.workspace,
                env=self.config.env,
                user=context.task.metadata.get("agent_user"),
                command_timeout=self.config.command_timeout,
            ),
        )


@attrs.define(kw_only=True, eq=False)
class MiniAgent(PlainAgent):
    """One run of the loop."""

    config: MiniConfig
    conversation: Conversation
    prepared: PreparedTask
    session: Session
    shell: Shell
    _record: Record = attrs.field(init=False)
    _started: float = attrs.field(init=False)
    _uname: Mapping[str, str] = attrs.field(init=False, factory=dict)
    _bad_replies: int = attrs.field(init=False, default=0)

    async def run(self, result: RunResult) -> None:
        """Loop until the agent submits or a limit is reached; errors fly after they are noted."""
        self._record = Record(result, self.config)
        self._started = trio.current_time()
        try:
            await self._open()
            while not self._record.exited:
                await self._step()
        except AgentCompassError as error:
            self._record.exit(type(error).__name__, exception_str=str(error))
            raise

    async def collect(self, result: RunResult) -> None:
        """Leave the trajectory in the sandbox, where `artifact_dir` asks for it."""
        if self.config.artifact_dir is not None:
            path = f"{self.config.artifact_dir.rstrip('/')}/mini_swe_agent.traj.json"
            text = json.dumps(result.artifacts.get("mini_swe_agent", {}), indent=2)
            await self.session.write(path, text.encode())

    async def _open(self) -> None:
        used = templates.names_in(self.config.system_template)
        used |= templates.names_in(self.config.instance_template)
        if used & set(templates.UNAME):
            self._uname = await self.shell.uname()
        for role in ("system", "user"):
            content = self._render("system_template" if role == "system" else "instance_template")
            self._record.messages.append({"role": role, "content": content})

    async def _step(self) -> None:
        if (status := self._limit_reached()) is not None:
            self._stop(status)
            return
        reply = await self._ask()
        try:
            actions = self._read(reply)
        except BadFormat as error:
            self._reject(reply, error)
            return
        self._bad_replies = 0
        message = assistant_message(
            reply.message, actions, with_reasoning=self.config.interleaved_thinking
        )
        self._record.accepted(message, actions, reply)
        await self._act(actions)

    def _limit_reached(self) -> str | None:
        config, sums = self.config, self._record.sums
        if 0 < config.step_limit <= sums.calls or 0 < config.cost_limit <= sums.cost:
            return "LimitsExceeded"
        elapsed = trio.current_time() - self._started
        return "TimeExceeded" if 0 < config.wall_time_limit_seconds <= elapsed else None

    async def _ask(self) -> Reply:
        tools = (BASH_TOOL,) if self.config.action_format == "tool" else ()
        started_at = now()
        self._record.called()
        reply = await self.conversation.complete(sendable(self._record.messages), tools=tools)
        self._record.replied(reply, started_at, tools)
        if reply.usage.cost_usd is None and self.config.cost_tracking == "default":
            raise HarnessFailed(
                "the cost of a reply is not known, and cost_tracking is 'default'; "
                "'ignore_errors' goes on without it"
            )
        return reply

    def _read(self, reply: Reply) -> tuple[Action, ...]:
        return read_calls(reply) if self.config.action_format == "tool" else read_fenced(reply)

    def _reject(self, reply: Reply, error: BadFormat) -> None:
        content = self._render(
            "format_error_template",
            error=str(error),
            actions=list(error.actions),
            has_tool_calls=error.has_tool_calls,
            finish_reason=reply.finish_reason,
        )
        self._record.rejected(content, error.actions, reply)
        self._bad_replies += 1
        if 0 < self.config.max_consecutive_format_errors <= self._bad_replies:
            self._stop("RepeatedFormatError")

    async def _act(self, actions: Sequence[Action]) -> None:
        observations = []
        for action in actions:
            output = await self.shell.run(action.command)
            content = self._render("observation_template", output=attrs.asdict(output))
            observations.append(self._record.ran(action, output, content))
            if (submission := output.submission) is not None:
                # As in the package, the history does not show the other outcomes of this reply.
                self._submit(submission, output)
                return
        self._record.messages.extend(observations)

    def _submit(self, submission: str, output: Output) -> None:
        self._record.exit("Submitted", submission)
        self._record.result.final_answer = submission
        if output.lost_bytes:
            message = f"{output.lost_bytes} bytes in the middle of the submission were not kept"
            self._note("error", "submission_truncated", message)

    def _stop(self, status: str) -> None:
        self._record.exit(status)
        limit = {
            "LimitsExceeded": "step_limit or cost_limit",
            "TimeExceeded": "wall_time_limit_seconds",
            "RepeatedFormatError": "max_consecutive_format_errors",
        }[status]
        calls = self._record.sums.calls
        message = f"{status}: the agent reached {limit} after {calls} model calls"
        self._note("warning", "harness_limit_reached", message)

    def _note(self, severity: Any, code: str, message: str) -> None:
        self._record.result.add_issue(
            Issue(severity=severity, phase="run", code=code, message=message)
        )

    def _render(self, name: str, **more: Any) -> str:
        variables = {
            **attrs.asdict(self.config, recurse=False),
            **self._uname,
            "task": task_text(self.prepared.input),
            "n_model_calls": self._record.sums.calls,
            "model_cost": self._record.sums.cost,
            "elapsed_seconds": int(trio.current_time() - self._started),
            **more,
        }
        return templates.render(name, getattr(self.config, name), variables)
