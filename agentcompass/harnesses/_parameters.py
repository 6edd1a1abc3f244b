"""How a harness declares its parameters: with a default, what it means, and a check."""

from collections.abc import Callable
from typing import Any

import attrs

from agentcompass.records.validators import said_as

_MOST = 1_000_000_000

Check = Callable[[Any, "attrs.Attribute[Any]", Any], None]


def parameter(default: Any, text: str, *, unit: str = "", check: Check | None = None) -> Any:
    """One field of a `Config`; `text` and `unit` are what `config docs` says of it."""
    return attrs.field(default=default, validator=check, metadata={"help": text, "unit": unit})


def at_least(low: int) -> Check:
    """Refuse numbers below `low`, NaN, and what is too large to be meant."""

    @said_as(minimum=low, maximum=_MOST)
    def check(_instance: object, attribute: "attrs.Attribute[Any]", value: float) -> None:
        if not low <= value <= _MOST:
            raise ValueError(f"{attribute.name} must be from {low} to 1e9, not {value!r}")

    return check
