"""From a conversation in the neutral form to a request of Anthropic's Messages API."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import dropwhile, takewhile
from typing import Any

from agentcompass.models._dialect import Message
from agentcompass.models._parts import Part, converted, plain_text

MAX_TOKENS = 8192  # the API requires a number; every model but the first ones can give as many
_THINKING = frozenset({"thinking", "redacted_thinking"})


def ask_anthropic(
    params: Mapping[str, Any], messages: Sequence[Message], tools: Sequence[Message]
) -> dict[str, Any]:
    """The body of a request: first system messages aside, turns of one role made one."""
    body: dict[str, Any] = {"max_tokens": MAX_TOKENS, **params}
    if system := "\n\n".join(plain_text(m.get("content")) for m in takewhile(_is_system, messages)):
        body["system"] = system
    body["messages"] = _turns(dropwhile(_is_system, messages))
    return {**body, "tools": [_tool(tool) for tool in tools]} if tools else body


def _is_system(message: Message) -> bool:
    return message["role"] in {"system", "developer"}


def _turns(messages: Iterator[Message]) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if message["role"] == "assistant" else "user"
        if not (blocks := list(_blocks(message))):
            continue
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    return turns


def _blocks(message: Message) -> Iterator[Part]:
    content = converted(message.get("content"), _text, _image)
    if message["role"] == "tool":
        name = message["tool_call_id"]
        yield {"type": "tool_result", "tool_use_id": name, "content": list(content)}
        return
    for block in message.get("reasoning_details") or ():
        if block.get("type") in _THINKING:
            yield block
    yield from content
    for call in message.get("tool_calls") or ():
        function = call["function"]
        given = _input(function["arguments"])
        yield {"type": "tool_use", "id": call["id"], "name": function["name"], "input": given}


def _text(text: str) -> Part:
    return {"type": "text", "text": text}


def _image(url: str, fields: Mapping[str, Any]) -> Part:
    head, _, data = url.partition(",")
    if head.startswith("data:") and head.endswith(";base64"):
        media_type = head.removeprefix("data:").removesuffix(";base64")
        source = {"type": "base64", "media_type": media_type, "data": data}
    else:
        source = {"type": "url", "url": url}
    return {"type": "image", "source": source}


def _input(arguments: Any) -> Mapping[str, Any]:
    """The arguments of a call that goes back; the API takes an object only, whatever was said."""
    try:
        given = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        given = None
    return given if isinstance(given, Mapping) else {"arguments": arguments}


def _tool(tool: Message) -> Mapping[str, Any]:
    if tool.get("type") != "function" or "function" not in tool:
        return tool
    function = tool["function"]
    return {
        "name": function["name"],
        "description": function.get("description", ""),
        "input_schema": function.get("parameters") or {"type": "object", "properties": {}},
    }
