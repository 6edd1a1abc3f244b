"""What a harness is tried with: a session and a model that follow a script, and an attempt."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import trio

from agentcompass.deadlines import CleanupClock
from agentcompass.errors import ExecutionError
from agentcompass.protocols import AgentContext
from agentcompass.records.environment import (
    EnvironmentPlan,
    ExecResult,
    NetworkPolicy,
    Transfer,
)
from agentcompass.records.model import Reply, Usage
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.task import PreparedTask, RunResult, TaskInput, TaskSpec

Outcome = ExecResult | ExecutionError


def echo(command: str) -> ExecResult:
    """Print the command itself."""
    return ExecResult(exit_code=0, stdout=f"ran {command}\n", seconds=0.5)


@attrs.define(eq=False)
class ScriptedSession:
    """Answers each command by a function; `asked` holds commands with their options."""

    answer: Callable[[str], Outcome] = echo
    seconds: float = 0.0
    workdir: str = "/app"
    asked: list[tuple[str, dict[str, Any]]] = attrs.field(factory=list)
    uploads: list[tuple[Path, str]] = attrs.field(factory=list)
    files: dict[str, bytes] = attrs.field(factory=dict)

    @property
    def commands(self) -> list[str]:
        return [command.removeprefix("exec 2>&1; ") for command, _ in self.asked]

    async def exec(self, command: str | Sequence[str], **options: Any) -> ExecResult:
        assert isinstance(command, str)
        self.asked.append((command, options))
        await trio.sleep(self.seconds)
        outcome = self.answer(command.removeprefix("exec 2>&1; "))
        if isinstance(outcome, ExecutionError):
            raise outcome
        return outcome

    async def upload(self, source: Path, target: str) -> None:
        self.uploads.append((source, target))

    async def download(self, source: str, target: Path, **_: Any) -> Transfer:
        raise FileNotFoundError(source)

    async def read(self, path: str) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]

    async def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        self.files[path] = data

    async def set_network_policy(self, policy: NetworkPolicy) -> None: ...

    async def aclose(self) -> None: ...


@attrs.define(eq=False)
class ScriptedModel:
    """Gives its replies in order, the last one for ever; an error among them is raised.

    `asked` holds a copy of what each call was given.
    """

    replies: Sequence[Reply | ExecutionError]
    seconds: float = 0.0
    asked: list[list[dict[str, Any]]] = attrs.field(factory=list)
    tools: list[Sequence[Mapping[str, Any]]] = attrs.field(factory=list)

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Reply:
        assert len(self.asked) < 1000, "the loop does not end"
        reply = self.replies[min(len(self.asked), len(self.replies) - 1)]
        self.asked.append([dict(message) for message in messages])
        self.tools.append(tools)
        await trio.sleep(self.seconds)
        if isinstance(reply, ExecutionError):
            raise reply
        return reply

    def spent(self) -> Mapping[str, Any]:
        return {}


def call(arguments: Any, *, name: str = "bash", call_id: Any = "c1") -> dict[str, Any]:
    """A tool call; its arguments as they are."""
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def calls(*commands: str) -> list[dict[str, Any]]:
    """A well-formed call of each command."""
    return [
        call(json.dumps({"command": command}), call_id=f"c{number}")
        for number, command in enumerate(commands, start=1)
    ]


def says(
    content: str | None,
    tool_calls: Sequence[Any] = (),
    *,
    finish_reason: str | None = None,
    usage: Usage | None = None,
    seconds: float = 0.0,
    **message: Any,
) -> Reply:
    """A reply."""
    given = {"role": "assistant", "content": content, **message}
    return Reply(
        message={**given, "tool_calls": list(tool_calls)} if tool_calls else given,
        finish_reason=finish_reason,
        usage=usage or Usage(),
        seconds=seconds,
    )


def runs(*commands: str, **rest: Any) -> Reply:
    """A reply that calls for commands."""
    return says("I act.", calls(*commands), **rest)


def context(
    conversation: Any = None,
    *,
    prompt: str = "Mend it.",
    workspace: str | None = None,
    **metadata: Any,
) -> AgentContext:
    """Attempt 1 of task `t`."""
    return AgentContext(
        task=TaskSpec(task_id="t", metadata=metadata),
        prepared=PreparedTask(task_id="t", input=TaskInput(prompt=prompt, workspace=workspace)),
        attempt=1,
        plan=ExecutionPlan(task_id="t", environment=EnvironmentPlan(id="scripted")),
        conversation=conversation,
        cleanup=CleanupClock(grace_seconds=1),
    )


async def drive(harness: Any, session: ScriptedSession, given: AgentContext) -> RunResult:
    """Run an agent from its start to its close."""
    result = RunResult(task_id="t")
    async with harness.start(session, given) as agent:
        await agent.run(result)
        await agent.collect(result)
    return result
