"""From a response of OpenAI's Responses API, whole or as events, to a `Reply`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from agentcompass.models._reading import Unusable, array, mapping, text_of
from agentcompass.records.model import Reply

_CUT: Mapping[Any, str] = {"max_output_tokens": "length", "content_filter": "content_filter"}
_LAST = frozenset({"response.completed", "response.incomplete", "response.failed"})


def read_response(answer: Mapping[str, Any]) -> Reply:
    """The reply of a response that has come to its end; raises `Unusable`."""
    if "output" not in answer:
        raise Unusable("there is no output")
    items = [mapping(item, "an item") for item in array(answer["output"], "the output")]
    calls = [_call(item) for item in items if item.get("type") == "function_call"]
    return Reply(message=_message(items, calls), finish_reason=_finish(answer, bool(calls)))


def _message(items: Sequence[Mapping[str, Any]], calls: list[Any]) -> Mapping[str, Any]:
    parts = [part for item in items if item.get("type") == "message" for part in _parts(item)]
    texts = [text_of(part.get("text")) for part in parts if part.get("type") == "output_text"]
    refusal = "".join(text_of(part.get("refusal")) for part in parts)
    details = [dict(item) for item in items if item.get("type") == "reasoning"]
    thought = "\n\n".join(text for item in details for text in _thoughts(item))
    optional = {
        "refusal": refusal,
        "reasoning_content": thought,
        "reasoning_details": details,
        "tool_calls": calls,
    }
    return {
        "role": "assistant",
        "content": "".join(texts) if texts else None,
        **{key: value for key, value in optional.items() if value},
    }


def _finish(answer: Mapping[str, Any], has_calls: bool) -> str | None:
    status = answer.get("status")
    if status == "incomplete":
        reason = (answer.get("incomplete_details") or {}).get("reason")
        return _CUT.get(reason, reason or "length")
    if status not in {"completed", None}:
        raise Unusable(f"the response is {status!r}")
    return "tool_calls" if has_calls else "stop"


def _call(item: Mapping[str, Any]) -> Mapping[str, Any]:
    function = {"name": item.get("name"), "arguments": item.get("arguments")}
    return {"id": item.get("call_id") or item.get("id"), "type": "function", "function": function}


def _parts(item: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for part in array(item.get("content"), "the content"):
        yield mapping(part, "a part of the content")


def _thoughts(item: Mapping[str, Any]) -> Iterator[str]:
    for name in ("summary", "content"):
        for part in array(item.get(name), name):
            if text := text_of(mapping(part, "a part of the reasoning").get("text")):
                yield text


@attrs.define(eq=False)
class ResponsesStream:
    """Takes the whole response of the last event, and the items that came before where it has none.

    Some servers leave the output of the last event empty.
    """

    ended: bool = False
    text: str = ""
    _response: dict[str, Any] = attrs.field(factory=dict)
    _items: dict[Any, dict[str, Any]] = attrs.field(factory=dict)

    @property
    def body(self) -> Mapping[str, Any]:
        """The response so far."""
        items = list(self._items.values())
        return {**self._response, "output": self._response.get("output") or items}

    @property
    def usable(self) -> bool:
        """Nothing but the last event says how the response ended."""
        return False

    def end(self) -> None:
        """`[DONE]`, which this protocol has no need of, says nothing new."""

    def add(self, event: Mapping[str, Any]) -> None:
        """Take one event."""
        kind, index = text_of(event.get("type")), event.get("output_index")
        if kind in _LAST or kind in {"response.created", "response.in_progress"}:
            self._response = dict(mapping(event.get("response"), "the response"))
            self.ended = kind in _LAST
        elif kind in {"response.output_item.added", "response.output_item.done"}:
            self._items[index] = dict(mapping(event.get("item"), "an item"))
        elif kind == "response.function_call_arguments.delta" and index in self._items:
            item = self._items[index]
            item["arguments"] = text_of(item.get("arguments")) + text_of(event.get("delta"))
        elif kind == "response.output_text.delta":
            self.text += text_of(event.get("delta"))
        elif kind == "error":
            self._response["error"] = event.get("error") or dict(event)
            self.ended = True
