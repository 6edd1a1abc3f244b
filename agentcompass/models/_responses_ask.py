"""From a conversation in the neutral form to the input of OpenAI's Responses API."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentcompass.models._dialect import Message
from agentcompass.models._parts import Part, converted


def ask_responses(
    params: Mapping[str, Any], messages: Sequence[Message], tools: Sequence[Message]
) -> dict[str, Any]:
    """The body of a request; all state is in its input."""
    stored = params.get("store") is not False
    items = [item for message in messages for item in _items(message, stored=stored)]
    body = {**params, "input": items}
    return {**body, "tools": [_tool(tool) for tool in tools]} if tools else body


def _items(message: Message, *, stored: bool) -> Iterator[Mapping[str, Any]]:
    role, content = message["role"], message.get("content")
    if role == "assistant":
        yield from _assistant(message, stored=stored)
    elif role == "tool":
        output = content if isinstance(content, str) else list(_content(content))
        yield {
            "type": "function_call_output",
            "call_id": message["tool_call_id"],
            "output": output,
        }
    else:
        given = content if isinstance(content, str) else list(_content(content))
        yield {"role": role, "content": given}


def _assistant(message: Message, *, stored: bool) -> Iterator[Mapping[str, Any]]:
    for item in message.get("reasoning_details") or ():
        # What the server did not store can be told from its encrypted form alone.
        if item.get("type") == "reasoning" and (stored or item.get("encrypted_content")):
            yield item
    if content := message.get("content"):
        yield {"role": "assistant", "content": content}
    for call in message.get("tool_calls") or ():
        function = call["function"]
        yield {
            "type": "function_call",
            "call_id": call["id"],
            "name": function["name"],
            "arguments": function["arguments"],
        }


def _content(content: Any) -> Iterator[Part]:
    return converted(content, _text, _image)


def _text(text: str) -> Part:
    return {"type": "input_text", "text": text}


def _image(url: str, fields: Mapping[str, Any]) -> Part:
    detail = fields.get("detail", "auto")
    return {"type": "input_image", "image_url": url, "detail": detail}


def _tool(tool: Message) -> Mapping[str, Any]:
    if tool.get("type") != "function" or "function" not in tool:
        return tool
    # Left out, `strict` is false in the chat form and true here.
    return {"type": "function", "strict": False, **tool["function"]}
