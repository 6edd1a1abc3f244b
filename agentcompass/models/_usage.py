"""Token counts as providers of the chat form report them, read with distrust."""

from collections.abc import Mapping
from typing import Any

from agentcompass.records.model import Usage

_MOST = 1e12  # US dollars; also keeps infinity, NaN and integers that no float can hold out


def read_usage(raw: Any) -> Usage:
    """The usage of one call; a count that is missing, negative or not a number is unknown.

    Cached tokens are a part of the prompt's and reasoning tokens of the completion's, as OpenAI
    reports them, so that neither is ever more than the whole or counted twice. `cost`, in US
    dollars, is reported by some gateways only.
    """
    if not isinstance(raw, Mapping):
        return Usage()
    prompt = _count(raw.get("prompt_tokens"))
    completion = _count(raw.get("completion_tokens"))
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=_part(raw.get("prompt_tokens_details"), "cached_tokens", prompt),
        reasoning_tokens=_part(
            raw.get("completion_tokens_details"), "reasoning_tokens", completion
        ),
        cost_usd=_amount(raw.get("cost")),
        raw=raw,
    )


def _part(details: Any, name: str, whole: int | None) -> int | None:
    part = _count(details.get(name)) if isinstance(details, Mapping) else None
    return part if part is None or whole is None else min(part, whole)


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _amount(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < _MOST else None
