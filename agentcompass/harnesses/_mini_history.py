"""What goes back into the model's history: bounded, and text that any server takes.

One huge reply would otherwise be sent again with every later call, and be refused each time.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agentcompass.harnesses._mini_actions import Action
from agentcompass.harnesses._text import bounded

_LIMIT = 65_536  # characters of the arguments of one call
_REASONING = ("reasoning_content", "reasoning", "reasoning_details")


def assistant_message(
    reply: Mapping[str, Any], actions: Sequence[Action], *, with_reasoning: bool
) -> dict[str, Any]:
    """A reply as later calls carry it, its reasoning only where it is asked for."""
    message: dict[str, Any] = {"role": "assistant", "content": bounded(reply.get("content"))}
    if with_reasoning:
        message |= {key: bounded(reply[key]) for key in _REASONING if reply.get(key)}
    if calls := [_call(action) for action in actions if action.call is not None]:
        message["tool_calls"] = calls
    return message


def _call(action: Action) -> dict[str, Any]:
    call = dict(action.call or {})
    arguments = call["function"]["arguments"]
    if len(arguments) > _LIMIT:  # cut as text they would be JSON no more
        arguments = json.dumps({"command": bounded(action.command)})
    else:
        arguments = bounded(arguments)
    return {**call, "function": {**call["function"], "arguments": arguments}}


def sendable(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The messages as the model is asked with them: without our own notes."""
    return [
        {key: value for key, value in message.items() if key != "extra"}
        for message in messages
        if message["role"] != "exit"
    ]
