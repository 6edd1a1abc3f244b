"""JSON that any reader takes: valid Unicode, and not nested beyond what parsers bear."""

import json
from typing import Any

import orjson

from agentcompass.store.encode import dump

# pydantic, which other programs read with, gives up at 200 levels; this leaves room around.
_DEEPEST = 100


def valid(text: str) -> str:
    """`text` with each lone half of a surrogate pair as its escape, such as `\\ud83d`."""
    return text.encode("utf-8", "backslashreplace").decode()


def as_text(value: Any) -> str:
    """A text as it is, None as nothing, and any other value as JSON."""
    if isinstance(value, str) or value is None:
        return value or ""
    return json.dumps(value, ensure_ascii=False, default=str)


def shallow(value: Any, levels: int = _DEEPEST) -> Any:
    """`value` with what lies deeper than `levels` as JSON text."""
    if isinstance(value, dict | list) and not levels:
        return as_text(value)
    if isinstance(value, dict):
        return {key: shallow(item, levels - 1) for key, item in value.items()}
    return [shallow(item, levels - 1) for item in value] if isinstance(value, list) else value


def document(value: Any) -> bytes:
    """The JSON text of a plain value, on one line with a line end."""
    try:
        return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # a lone half of a surrogate pair, or an integer beyond 64 bits
        return dump(_valid(value), indent=False)


def _valid(value: Any) -> Any:
    if isinstance(value, str):
        return valid(value)
    if isinstance(value, dict):
        return {valid(key): _valid(item) for key, item in value.items()}
    return [_valid(item) for item in value] if isinstance(value, list | tuple) else value
