"""What an attempt's model calls took, in the words of an Inspect log; pure."""

from collections.abc import Mapping
from typing import Any

from agentcompass.config.merge import pick
from agentcompass.records.attempt import AttemptResult

Record = Mapping[str, Any]
Usage = dict[str, int | float]

# Ours and Inspect's, whose `input_tokens` are those that came from no cache and went into none.
_CACHE = {
    "cached_tokens": "input_tokens_cache_read",
    "cache_write_tokens": "input_tokens_cache_write",
}
_PARTS = {**_CACHE, "reasoning_tokens": "reasoning_tokens"}


def usage_of(result: AttemptResult, trajectory: Record | None) -> Usage:
    """By the attempt's telemetry or else its trajectory; empty where no tokens are known."""
    telemetry = pick(result.meta, ("harness", "telemetry"), {})
    totals = (trajectory or {}).get("final_metrics", {})
    counted = {name.removeprefix("total_"): amount for name, amount in totals.items()}
    for found in (pick(telemetry, ("model",)), telemetry, counted):
        if isinstance(found, Mapping) and (usage := _usage(found)):
            return usage
    return {}


def added(total: Usage, usage: Usage) -> Usage:
    """Both together; a field that only one has is that one's."""
    return {
        name: total.get(name, 0) + usage.get(name, 0) for name in dict.fromkeys([*total, *usage])
    }


def _usage(found: Record) -> Usage:
    asked, replied = (_amount(found.get(f"{side}_tokens")) for side in ("prompt", "completion"))
    if asked is None and replied is None:
        return {}
    amounts = {word: _amount(found.get(name)) for name, word in _PARTS.items()}
    parts: Usage = {word: int(amount) for word, amount in amounts.items() if amount is not None}
    cost = _amount(found.get("cost_usd"))
    apart = sum(parts.get(word, 0) for word in _CACHE.values())
    return {
        "input_tokens": int(max(0, (asked or 0) - apart)),
        "output_tokens": int(replied or 0),
        "total_tokens": int((asked or 0) + (replied or 0)),
        **parts,
        **({} if cost is None else {"total_cost": cost}),
    }


def _amount(value: Any) -> int | float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if number else None
