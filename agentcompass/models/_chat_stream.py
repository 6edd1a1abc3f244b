"""The chunks of a streamed chat completion, put together."""

from collections.abc import Mapping
from typing import Any

import attrs

from agentcompass.models._reading import array, mapping, text_of

_GROWING = ("content", "reasoning_content", "reasoning", "refusal")


@attrs.define(eq=False)
class ChatStream:
    """Only the first choice is read, as without a stream."""

    ended: bool = False
    _seen: bool = False
    _message: dict[str, Any] = attrs.field(factory=dict)
    _calls: dict[int, dict[str, Any]] = attrs.field(factory=dict)
    _finish: Any = None
    _rest: dict[str, Any] = attrs.field(factory=dict)

    @property
    def body(self) -> Mapping[str, Any]:
        """The completion so far."""
        message = {"content": None, **self._message}
        if self._calls:
            message["tool_calls"] = [self._calls[index] for index in sorted(self._calls)]
        choice = {"message": message, "finish_reason": self._finish}
        return {"choices": [choice] if self._seen else [], **self._rest}

    @property
    def text(self) -> str:
        """The content so far."""
        return text_of(self._message.get("content"))

    @property
    def usable(self) -> bool:
        """Whether a finish reason has come: some servers send no `[DONE]`."""
        return self._finish is not None

    def end(self) -> None:
        """`[DONE]` has come."""
        self.ended = True

    def add(self, event: Mapping[str, Any]) -> None:
        """Take one chunk."""
        if event.get("error"):
            self._rest["error"] = event["error"]
            self.ended = True
        if event.get("usage"):
            self._rest["usage"] = event["usage"]
        for given in array(event.get("choices"), "choices"):
            choice = mapping(given, "a choice")
            if choice.get("index") in {0, None}:
                self._choose(choice)

    def _choose(self, choice: Mapping[str, Any]) -> None:
        self._seen = True
        self._finish = choice.get("finish_reason") or self._finish
        delta = mapping(choice.get("delta") or {}, "a delta")
        for name, value in delta.items():
            if name == "tool_calls":
                for call in array(value, "tool_calls"):
                    self._call(mapping(call, "a tool call"))
            elif name in _GROWING and isinstance(value, str):
                self._message[name] = text_of(self._message.get(name)) + value
            elif name == "reasoning_details":
                _extend(self._message.setdefault(name, []), array(value, name))
            elif value is not None:
                self._message[name] = value

    def _call(self, delta: Mapping[str, Any]) -> None:
        index = delta.get("index")
        if type(index) is not int:
            # Without an index, an id begins a new call, and what has none goes on with the last.
            index = len(self._calls) - (0 if delta.get("id") or not self._calls else 1)
        call = self._calls.setdefault(index, {"function": {"name": "", "arguments": ""}})
        call |= {key: delta[key] for key in ("id", "type") if delta.get(key)}
        function, given = call["function"], mapping(delta.get("function") or {}, "a function")
        function["name"] = given.get("name") or function["name"]
        arguments = given.get("arguments")
        if isinstance(arguments, str) and isinstance(function["arguments"], str):
            function["arguments"] += arguments
        elif arguments is not None:
            function["arguments"] = arguments


def _extend(details: list[Any], more: Any) -> None:
    """Add pieces of reasoning; a piece with the index of an earlier one goes on with its text."""
    for piece in more:
        piece = mapping(piece, "a piece of reasoning_details")
        index = piece.get("index")
        last = next((one for one in details if index is not None and one["index"] == index), None)
        if last is None:
            details.append({"index": index, **piece})
            continue
        for name, value in piece.items():
            grows = name in {"text", "summary", "data", "signature"} and isinstance(value, str)
            last[name] = text_of(last.get(name)) + value if grows else value
