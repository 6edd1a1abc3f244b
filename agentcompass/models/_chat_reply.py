"""From a chat completion to a `Reply`."""

from collections.abc import Mapping, Sequence
from typing import Any

from agentcompass.models._reading import Unusable, array, kind, mapping
from agentcompass.records.model import Reply

# What other servers call the reasons of OpenAI's own.
_REASONS: Mapping[str, str] = {
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "end_turn": "stop",
    "eos": "stop",
    "max_tokens": "length",
}


def read_chat(answer: Mapping[str, Any]) -> Reply:
    """The first choice of a chat completion; raises `Unusable`."""
    choices = answer.get("choices")
    if not isinstance(choices, Sequence) or isinstance(choices, str) or not choices:
        raise Unusable("there are no choices")
    choice = mapping(choices[0], "the first choice")
    finish = choice.get("finish_reason")
    return Reply(
        message=_message(mapping(choice.get("message"), "the message")),
        finish_reason=None if finish is None else _REASONS.get(str(finish), str(finish)),
    )


def _message(message: Mapping[str, Any]) -> Mapping[str, Any]:
    # What is inside a call is the model's own work: the harness answers its mistakes.
    calls = array(message.get("tool_calls"), "tool_calls")
    given = {key: value for key, value in message.items() if key != "tool_calls"}
    read = {"role": "assistant", "content": _text(message.get("content"))}
    return {**given, **read, **({"tool_calls": list(calls)} if calls else {})}


def _text(content: Any) -> str | None:
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(_part(part) for part in content)
    raise Unusable(f"the content is {kind(content)}, neither text nor a list of parts")


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    text = part.get("text") if isinstance(part, Mapping) else None
    return text if isinstance(text, str) else ""
