"""Reasoning that a provider wants back, for harnesses that leave it out of their history."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from agentcompass.models._dialect import Message


@attrs.define(eq=False)
class Memory:
    """What each reply of one conversation reasoned, found again by the ids of its tool calls."""

    _details: dict[str, Any] = attrs.field(factory=dict)

    def keep(self, message: Message) -> None:
        """Remember a reply's reasoning, if it asked for a tool."""
        if details := message.get("reasoning_details"):
            self._details.update(dict.fromkeys(_ids(message), details))

    def restored(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The messages, each reply with its reasoning."""
        return [self._with_details(message) for message in messages] if self._details else messages

    def _with_details(self, message: Message) -> Message:
        if message.get("role") != "assistant" or message.get("reasoning_details"):
            return message
        known = next((self._details[name] for name in _ids(message) if name in self._details), None)
        return message if known is None else {**message, "reasoning_details": known}


def _ids(message: Message) -> Iterable[str]:
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, Mapping) and isinstance(call.get("id"), str):
            yield call["id"]
