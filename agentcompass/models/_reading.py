"""Reading JSON that others wrote, with distrust: every surprise is an `Unusable`, with its name."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import orjson


class Unusable(ValueError):
    """The body is not what the protocol promises; the text says in which way."""


def parse(text: str | bytes, name: str = "the body") -> Mapping[str, Any]:
    """A JSON object; numbers that could not be recorded (NaN, 1e999) are null."""
    try:
        found = _JSON.decode(text if isinstance(text, str) else _decoded(text))
    except (ValueError, RecursionError) as error:
        raise Unusable(f"{name} is not JSON") from error
    return mapping(found, name)


def encode(value: Any) -> bytes:
    """JSON, also of halves of surrogate pairs and integers beyond 64 bits."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return json.dumps(value, allow_nan=False).encode()


def mapping(value: Any, name: str) -> Mapping[str, Any]:
    """The value, which must be an object."""
    if not isinstance(value, Mapping):
        raise Unusable(f"{name} is {kind(value)} and not an object")
    return value


def array(value: Any, name: str) -> Sequence[Any]:
    """The value, which must be a list; null is an empty one."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise Unusable(f"{name} is {kind(value)} and not a list")
    return value


def kind(value: Any) -> str:
    """What a value is, for a message."""
    return "missing or null" if value is None else type(value).__name__


def text_of(value: Any) -> str:
    """The value where it is text, else nothing."""
    return value if isinstance(value, str) else ""


def _finite(text: str) -> float | None:
    # 1e999 is legal JSON, becomes infinity, and could not be recorded.
    return value if math.isfinite(value := float(text)) else None


def _nothing(_constant: str) -> None:
    return None


# Made once: `json.loads` makes one for every text.
_JSON = json.JSONDecoder(parse_float=_finite, parse_constant=_nothing)


def _decoded(text: bytes) -> str:
    return text.decode(json.detect_encoding(text), "surrogatepass")
