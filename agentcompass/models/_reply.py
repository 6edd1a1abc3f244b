"""From the body of a chat completion to a `Reply`, or a `ModelFailed` that says what is wrong."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from agentcompass.errors import ModelFailed
from agentcompass.models._faults import Redactor, error_line, severity_of
from agentcompass.models._usage import read_usage
from agentcompass.records.model import Reply


class Unusable(ValueError):
    """The body is not a chat completion; the text says in which way."""


def read_reply(body: bytes, *, seconds: float, redact: Redactor) -> Reply:
    """The first choice of a chat completion; raises `ModelFailed` with an excerpt of the body."""
    try:
        answer = _parse(body)
        if answer.get("error"):
            raise _reported(answer["error"], body, redact)
        return _first_choice(answer, seconds)
    except Unusable as error:
        raise ModelFailed(
            f"HTTP 200, but {error}: {redact.excerpt(body)}", status_code=200
        ) from error


def _parse(body: bytes) -> Mapping[str, Any]:
    try:
        answer = json.loads(body, parse_float=_finite, parse_constant=_nothing)
    except (ValueError, RecursionError) as error:
        raise Unusable("the body is not JSON") from error
    return _object(answer, "the body")


def _finite(text: str) -> float | None:
    # 1e999 is legal JSON, becomes infinity, and could not be recorded.
    return value if math.isfinite(value := float(text)) else None


def _nothing(_constant: str) -> None:
    return None


def _reported(error: Any, body: bytes, redact: Redactor) -> ModelFailed:
    code = error.get("code") if isinstance(error, Mapping) else None
    status = code if type(code) is int and 400 <= code < 600 else 200
    said = redact(error_line(error) or "")[:200] or redact.excerpt(body)
    return ModelFailed(
        f"HTTP 200, but the body is an error: {said}",
        severity=severity_of(status),
        status_code=status,
    )


def _first_choice(answer: Mapping[str, Any], seconds: float) -> Reply:
    choices = answer.get("choices")
    if not isinstance(choices, Sequence) or isinstance(choices, str) or not choices:
        raise Unusable("there are no choices")
    choice = _object(choices[0], "the first choice")
    finish = choice.get("finish_reason")
    return Reply(
        message=_message(_object(choice.get("message"), "the message")),
        finish_reason=None if finish is None else str(finish),
        usage=read_usage(answer.get("usage")),
        seconds=seconds,
    )


def _object(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise Unusable(f"{name} is {_kind(value)} and not an object")
    return value


def _kind(value: Any) -> str:
    return "missing or null" if value is None else type(value).__name__


def _message(message: Mapping[str, Any]) -> Mapping[str, Any]:
    given = {key: value for key, value in message.items() if key != "tool_calls"}
    calls = _calls(message.get("tool_calls"))
    read = {"role": "assistant", "content": _text(message.get("content"))}
    return {**given, **read, **({"tool_calls": calls} if calls else {})}


def _text(content: Any) -> str | None:
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(_part(part) for part in content)
    raise Unusable(f"the content is {_kind(content)}, neither text nor a list of parts")


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    text = part.get("text") if isinstance(part, Mapping) else None
    return text if isinstance(text, str) else ""


def _calls(calls: Any) -> list[Any]:
    # What is inside a call is the model's own work: the harness answers its mistakes.
    if calls is None:
        return []
    if not isinstance(calls, list):
        raise Unusable(f"tool_calls is {_kind(calls)} and not a list")
    return calls
