"""Terminus 2: a model that types into a terminal and reads what it shows."""

import json
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import attrs

from agentcompass.errors import AgentCompassError, HarnessFailed
from agentcompass.harnesses import _terminus_prompts as prompts
from agentcompass.harnesses._packages import OWN_MACHINE
from agentcompass.harnesses._sums import PROTOCOLS, Sums
from agentcompass.harnesses._terminus_chat import Chat
from agentcompass.harnesses._terminus_config import TerminusConfig
from agentcompass.harnesses._terminus_json import parse_json
from agentcompass.harnesses._terminus_reply import Keys, Parsed
from agentcompass.harnesses._terminus_terminal import Terminal
from agentcompass.harnesses._terminus_xml import parse_xml
from agentcompass.harnesses._text import bounded, task_text
from agentcompass.harnesses._trajectory import Trajectory
from agentcompass.protocols import AgentContext, Conversation, Session
from agentcompass.records.issue import Issue
from agentcompass.records.model import Reply
from agentcompass.records.task import RunResult


class Terminus2:
    """Our own loop, which behaves as Harbor's Terminus 2: text in, keystrokes out, no tools.

    Reaching `max_turns` is a WARNING: what the agent did until then is its result.
    """

    id: ClassVar[str] = "terminus2"
    description: ClassVar[str] = "Terminus 2's loop, built in: a model at a tmux terminal"
    Config: ClassVar[type[Any]] = TerminusConfig
    needs_model: ClassVar[bool] = True
    protocols: ClassVar[Sequence[str]] = PROTOCOLS
    default_run_timeout_seconds: ClassVar[float | None] = None

    def __init__(self, config: TerminusConfig) -> None:
        self.config = config

    def start(self, session: Session, context: AgentContext) -> "TerminusAgent":
        """An agent for one execution; its terminal starts when it is entered."""
        if context.conversation is None:
            raise HarnessFailed("terminus2 needs a model")
        own = context.plan.environment.id == OWN_MACHINE
        return TerminusAgent(
            config=self.config,
            conversation=context.conversation,
            task=task_text(context.prepared.input),
            terminal=Terminal(
                session=session,
                cwd=context.prepared.input.workspace,
                user=context.task.metadata.get("agent_user"),
                width=self.config.tmux_pane_width,
                height=self.config.tmux_pane_height,
                install_seconds=0.0 if own else self.config.install_timeout,
            ),
        )


@attrs.define(kw_only=True, eq=False)
class TerminusAgent:
    """One run of the loop."""

    config: TerminusConfig
    conversation: Conversation
    task: str
    terminal: Terminal
    _result: RunResult = attrs.field(init=False)
    _chat: Chat = attrs.field(init=False)
    _turns: int = attrs.field(init=False, default=0)
    _screen: str = attrs.field(init=False, default="")
    _has_claimed: bool = attrs.field(init=False, default=False)

    async def __aenter__(self) -> Self:
        await self.terminal.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Leave the terminal to the session: what runs in it may be what is scored."""

    async def run(self, result: RunResult) -> None:
        """Loop until the model has said twice that it is done, or `max_turns` is reached."""
        self._begin(result)
        try:
            await self._act(())
            prompt: str | None = prompts.initial(self.config.parser_name, self.task, self._screen)
            while prompt is not None:
                if 0 < self.config.max_turns <= self._turns:
                    self._stop()
                    return
                prompt = await self._turn(prompt)
            result.extra["exit_status"] = "Completed"
        except AgentCompassError as error:
            result.extra["exit_status"] = type(error).__name__
            raise

    async def collect(self, result: RunResult) -> None:
        """Everything is in the result already."""

    def _begin(self, result: RunResult) -> None:
        self._result = result
        trajectory = Trajectory()
        result.trajectory = trajectory.record
        sums = Sums.of(result)
        result.telemetry |= {"n_turns": 0, "n_summaries": 0}
        self._chat = Chat(
            conversation=self.conversation,
            config=self.config,
            sums=sums,
            trajectory=trajectory,
            task=self.task,
        )

    async def _turn(self, prompt: str) -> str | None:
        """One reply and what comes of it: the next message, or None at the end."""
        reply, started_at = await self._chat.say(prompt, self._screen)
        self._turns += 1
        self._result.telemetry["n_turns"] = self._turns
        parsed = self._parse(reply)
        said = self._chat.last_prompt
        self._chat.trajectory.add_step(
            _with_calls(reply, parsed, self._turns),
            started_at=started_at,
            user_content=said if self._turns == 1 or said != prompt else "",
        )
        if reply.finish_reason == "length" and not parsed.is_whole:
            return self._answer(prompts.cut_off())
        if parsed.error:
            return self._answer(prompts.faulty(parsed))
        return await self._execute(parsed)

    async def _execute(self, parsed: Parsed) -> str | None:
        seconds = await self._act(parsed.commands)
        observation = prompts.observed(parsed, self._screen)
        is_sure = parsed.is_complete and self._has_claimed
        self._has_claimed = parsed.is_complete
        if parsed.is_complete and not is_sure:
            observation = prompts.confirm(observation)
        only = _call_id(self._turns, 1) if len(parsed.commands) == 1 else None
        self._observe(observation, seconds, only)
        return None if is_sure else observation

    def _parse(self, reply: Reply) -> Parsed:
        text = str(reply.message.get("content") or "")
        return parse_json(text) if self.config.parser_name == "json" else parse_xml(text)

    async def _act(self, commands: Sequence[Keys]) -> float:
        seen = await self.terminal.type(commands)
        self._screen = seen.text
        self._chat.sums.acted(seen.seconds)
        return seen.seconds

    def _answer(self, text: str) -> str:
        self._observe(text, None, None)
        return text

    def _observe(self, text: str, seconds: float | None, call_id: str | None) -> None:
        source = {} if call_id is None else {"tool_call_id": call_id}
        observation = {"role": "user", **source, "content": text}
        self._chat.trajectory.observe(observation, seconds=seconds)

    def _stop(self) -> None:
        self._result.extra["exit_status"] = "MaxTurns"
        message = f"the agent reached max_turns after {self._turns} turns"
        self._result.add_issue(
            Issue(severity="warning", phase="run", code="harness_limit_reached", message=message)
        )


def _call_id(turn: int, number: int) -> str:
    return f"call_{turn}_{number}"


def _with_calls(reply: Reply, parsed: Parsed, turn: int) -> Reply:
    """The reply as the trajectory has it: its commands as calls, its text bounded."""
    calls = [
        _call(
            _call_id(turn, number),
            "bash_command",
            {"keystrokes": bounded(keys.text), "duration": keys.seconds},
        )
        for number, keys in enumerate(parsed.commands, start=1)
    ]
    if parsed.is_complete:
        calls.append(_call(f"call_{turn}_task_complete", "mark_task_complete", {}))
    message = {**reply.message, "content": bounded(reply.message.get("content"))}
    return attrs.evolve(reply, message={**message, "tool_calls": calls})


def _call(name: str, function: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": name,
        "type": "function",
        "function": {"name": function, "arguments": json.dumps(arguments, ensure_ascii=False)},
    }
