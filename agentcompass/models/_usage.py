"""Token counts as each protocol reports them, read with distrust into one form."""

from collections.abc import Mapping
from typing import Any

from agentcompass.records.model import Usage

_MOST = 1e12  # US dollars; also keeps infinity, NaN and integers that no float can hold out


def read_usage(raw: Any) -> Usage:
    """The usage of a chat completion; a count that is missing, negative or no number is unknown.

    Cached tokens are a part of the prompt's and reasoning tokens of the completion's, as OpenAI
    reports them, so that neither is ever more than the whole or counted twice. `cost`, in US
    dollars, is reported by some gateways only.
    """
    return _nested(raw, "prompt_tokens", "completion_tokens")


def responses_usage(raw: Any) -> Usage:
    """The usage of a response: as that of a chat completion, under other names."""
    return _nested(raw, "input_tokens", "output_tokens")


def anthropic_usage(raw: Any) -> Usage:
    """The usage of a message, where `input_tokens` leave out what was read from or put in a cache.

    The prompt is all three; reasoning is a part of the output and not told apart.
    """
    if not isinstance(raw, Mapping):
        return Usage()
    plain = _count(raw.get("input_tokens"))
    read = _count(raw.get("cache_read_input_tokens"))
    written = _count(raw.get("cache_creation_input_tokens"))
    return Usage(
        prompt_tokens=None if plain is None else plain + (read or 0) + (written or 0),
        completion_tokens=_count(raw.get("output_tokens")),
        cached_tokens=read,
        cache_write_tokens=written,
        cost_usd=_amount(raw.get("cost")),
        raw=raw,
    )


def _nested(raw: Any, prompt_name: str, completion_name: str) -> Usage:
    if not isinstance(raw, Mapping):
        return Usage()
    prompt, completion = _count(raw.get(prompt_name)), _count(raw.get(completion_name))
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=_part(raw.get(f"{prompt_name}_details"), "cached_tokens", prompt),
        reasoning_tokens=_part(
            raw.get(f"{completion_name}_details"), "reasoning_tokens", completion
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
