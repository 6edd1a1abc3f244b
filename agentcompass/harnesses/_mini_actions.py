"""From a reply to the commands that it asks for, or to a `BadFormat` that tells the true cause."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from agentcompass.harnesses._mini_templates import FENCE
from agentcompass.records.model import Reply

BASH_TOOL: Mapping[str, Any] = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "Run a bash command and return its exit code and output.",
        "parameters": {
            "type": "object",
            "properties": {
                "command": {"type": "string", "description": "What bash is to run."},
            },
            "required": ["command"],
        },
    },
}

_FENCED = re.compile(rf"```{FENCE}\s*\n(.*?)\n```", re.DOTALL)


class BadFormat(Exception):
    """A reply from which nothing can be run; the text says why, for the model to read."""

    def __init__(
        self, why: str, *, actions: Sequence[str] = (), has_tool_calls: bool = False
    ) -> None:
        super().__init__(why)
        self.actions = tuple(actions)
        self.has_tool_calls = has_tool_calls


@attrs.frozen(kw_only=True)
class Action:
    """One command; `call` is the tool call that asked for it, None in a text reply.

    The call has an id, a type and its arguments as text, whatever the provider left out.
    """

    command: str
    call: Mapping[str, Any] | None = None


def read_fenced(reply: Reply) -> tuple[Action, ...]:
    """The one command of a text reply; raises `BadFormat`."""
    commands = [found.strip() for found in _FENCED.findall(reply.message.get("content") or "")]
    if len(commands) != 1:
        why = f"expected one {FENCE} block in the reply, found {len(commands)}."
        raise BadFormat(why + _cut_note(reply, not commands), actions=commands)
    return (Action(command=_runnable(commands[0])),)


def read_calls(reply: Reply) -> tuple[Action, ...]:
    """The command of each tool call, in order; raises `BadFormat` where one of them is bad."""
    calls = reply.message.get("tool_calls") or ()
    if not calls:
        raise BadFormat("the reply holds no tool call." + _cut_note(reply, True))
    actions = tuple(_action(call, number, reply) for number, call in enumerate(calls, start=1))
    ids = [action.call["id"] for action in actions if action.call is not None]
    if len(set(ids)) < len(ids):
        raise BadFormat("two tool calls have the same id.", has_tool_calls=True)
    return actions


def _cut_note(reply: Reply, incomplete: bool) -> str:
    # Only what is incomplete was cut: a wrong name or field is a mistake at any finish reason.
    if incomplete and reply.finish_reason == "length":
        return " The reply was cut off at its token limit: write less in one reply."
    return ""


def _action(call: Any, number: int, reply: Reply) -> Action:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        raise BadFormat("a tool call names no function.", has_tool_calls=True)
    if function.get("name") != "bash":
        name = str(function.get("name"))[:100]
        raise BadFormat(f"there is no tool {name!r}, only bash.", has_tool_calls=True)
    given = function.get("arguments")
    text = json.dumps(given) if isinstance(given, Mapping) else given
    command = _command(text, reply)
    plain = {"id": str(call.get("id") or f"call_{number}"), "type": "function"}
    return Action(
        command=_runnable(command, has_tool_calls=True),
        call={**call, **plain, "function": {**function, "arguments": text}},
    )


def _command(arguments: Any, reply: Reply) -> str:
    try:
        fields = json.loads(arguments, object_pairs_hook=_unique)
    except (TypeError, ValueError, RecursionError) as error:
        why = f"the arguments of the tool call are not a JSON object: {error}."
        raise BadFormat(why + _cut_note(reply, True), has_tool_calls=True) from error
    if not isinstance(fields, dict) or not isinstance(fields.get("command"), str):
        why = "the arguments of the tool call need a field `command` that holds text."
        raise BadFormat(why, has_tool_calls=True)
    return str(fields["command"])


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field is given twice")
    return fields


def _runnable(command: str, *, has_tool_calls: bool = False) -> str:
    try:
        data = command.encode()
    except UnicodeEncodeError:
        data = b"\0"
    if b"\0" in data:
        why = "the command holds a NUL or half a surrogate pair, which no shell can be given."
        raise BadFormat(why, has_tool_calls=has_tool_calls)
    return command
