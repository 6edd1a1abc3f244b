"""From a message of Anthropic's Messages API, whole or as events, to a `Reply`."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from agentcompass.models._reading import Unusable, mapping, text_of
from agentcompass.records.model import Reply

_REASONS: Mapping[str, str] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "context_length",
    "refusal": "content_filter",
}
_THINKING = frozenset({"thinking", "redacted_thinking"})
# Which field of a block each kind of delta adds to, and the delta's own field.
_GROWS: Mapping[str, tuple[str, str]] = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "input_json_delta": ("input", "partial_json"),
}


def read_anthropic(answer: Mapping[str, Any]) -> Reply:
    """The reply of a message; raises `Unusable`."""
    if not isinstance(answer.get("content"), list):
        raise Unusable("there is no content")
    blocks = [mapping(block, "a block of the content") for block in answer["content"]]
    reason = answer.get("stop_reason")
    return Reply(
        message=_message(blocks),
        finish_reason=None if reason is None else _REASONS.get(str(reason), str(reason)),
    )


def _message(blocks: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    texts = [text_of(block.get("text")) for block in blocks if block.get("type") == "text"]
    details = [dict(block) for block in blocks if block.get("type") in _THINKING]
    optional = {
        "reasoning_content": "\n\n".join(filter(None, map(_thought, details))),
        "reasoning_details": details,
        "tool_calls": [_call(block) for block in blocks if block.get("type") == "tool_use"],
    }
    return {
        "role": "assistant",
        "content": "".join(texts) if texts else None,
        **{key: value for key, value in optional.items() if value},
    }


def _thought(block: Mapping[str, Any]) -> str:
    return text_of(block.get("thinking"))


def _call(block: Mapping[str, Any]) -> Mapping[str, Any]:
    given = block.get("input")
    # Text is what a stream's pieces came to, and may be broken JSON: the harness answers it.
    arguments = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    function = {"name": block.get("name"), "arguments": arguments}
    return {"id": block.get("id"), "type": "function", "function": function}


@attrs.define(eq=False)
class AnthropicStream:
    """Puts blocks together from their deltas; the input of a tool becomes the text of its JSON."""

    ended: bool = False
    _message: dict[str, Any] = attrs.field(factory=dict)
    _blocks: dict[Any, dict[str, Any]] = attrs.field(factory=dict)

    @property
    def body(self) -> Mapping[str, Any]:
        """The message so far; no content before it has begun."""
        if not self._message:
            return {}
        return {**self._message, "content": [self._blocks[key] for key in sorted(self._blocks)]}

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(text_of(self._blocks[key].get("text")) for key in sorted(self._blocks))

    @property
    def usable(self) -> bool:
        """Whether a stop reason has come."""
        return self._message.get("stop_reason") is not None

    def end(self) -> None:
        """`[DONE]`, which some servers send although this protocol has none, says nothing new."""

    def add(self, event: Mapping[str, Any]) -> None:
        """Take one event; kinds that are not known are passed over, as the API asks for."""
        kind = event.get("type")
        if kind == "message_start":
            self._message = dict(mapping(event.get("message"), "the message"))
        elif kind == "content_block_start":
            block = mapping(event.get("content_block"), "a block of the content")
            self._blocks[_index(event)] = dict(block)
        elif kind == "content_block_delta":
            self._grow(_index(event), mapping(event.get("delta"), "a delta"))
        elif kind == "message_delta":
            self._change(event)
        elif kind == "message_stop":
            self.ended = True
        elif kind == "error":
            self._message["error"] = event.get("error") or dict(event)
            self.ended = True

    def _grow(self, index: int, delta: Mapping[str, Any]) -> None:
        block = self._blocks.setdefault(index, {})
        name, source = _GROWS.get(text_of(delta.get("type")), ("", ""))
        if name:
            block[name] = text_of(block.get(name)) + text_of(delta.get(source))

    def _change(self, event: Mapping[str, Any]) -> None:
        for name, value in mapping(event.get("delta") or {}, "a delta").items():
            self._message[name] = value
        usage = mapping(event.get("usage") or {}, "the usage")
        known = {name: value for name, value in usage.items() if value is not None}
        self._message["usage"] = {**(self._message.get("usage") or {}), **known}


def _index(event: Mapping[str, Any]) -> int:
    index = event.get("index")
    if type(index) is not int:
        raise Unusable("a block of the content has no index")
    return index
