"""The steps of a trajectory in ATIF as the messages of an Inspect log; pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]


def messages_of(steps: Sequence[Record]) -> list[dict[str, Any]]:
    """Every message in order; what came of a step without a call is a user's."""
    return [message for step in steps for message in _messages(step)]


def _messages(step: Record) -> Iterator[dict[str, Any]]:
    if step["source"] != "agent":
        yield {"role": step["source"], "content": step["message"], "source": "input"}
        return
    calls = step.get("tool_calls") or ()
    yield _assistant(step, calls)
    names = {call["tool_call_id"]: call["function_name"] for call in calls}
    for result in (step.get("observation") or {}).get("results", ()):
        yield _observed(result, names)


def _assistant(step: Record, calls: Sequence[Record]) -> dict[str, Any]:
    content: Any = step["message"]
    if reasoning := step.get("reasoning_content"):
        thought = {"type": "reasoning", "reasoning": reasoning}
        content = [thought, {"type": "text", "text": content}]
    message = {"role": "assistant", "content": content, "source": "generate"}
    return {**message, "tool_calls": [_call(call) for call in calls]} if calls else message


def _call(call: Record) -> dict[str, Any]:
    return {
        "id": call["tool_call_id"],
        "function": call["function_name"],
        "arguments": call["arguments"],
        "type": "function",
    }


def _observed(result: Record, names: Mapping[str, str]) -> dict[str, Any]:
    call, content = result.get("source_call_id"), result.get("content") or ""
    if call is None:
        return {"role": "user", "content": content}
    return {"role": "tool", "content": content, "tool_call_id": call, "function": names[call]}
