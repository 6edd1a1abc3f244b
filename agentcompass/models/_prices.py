"""What a call costs, from a table that ships (`prices.json`) or from the user's own prices."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import attrs

from agentcompass.records.model import Usage

_PROVIDER = re.compile(r"(?:openai|anthropic)/")
_DATE = re.compile(r"(?:-\d{4}-\d{2}-\d{2}|[-@]\d{8}|-latest)$")
_OTHER_PRICE = frozenset({"flex", "priority", "scale"})  # service tiers
_FIELDS = ("input", "output", "cached_input", "cache_write")


@attrs.frozen(kw_only=True)
class Prices:
    """US dollars for a million tokens; without one of its own, a part of the input costs as input.

    A prompt of more than `prompt_limit` tokens has another price, which is not known.
    """

    input: float
    output: float
    cached_input: float | None = None
    cache_write: float | None = None
    prompt_limit: int | None = None

    def cost(self, usage: Usage) -> float | None:
        """US dollars, or None where the counts are not known."""
        prompt, completion = usage.prompt_tokens, usage.completion_tokens
        if prompt is None or completion is None or prompt > (self.prompt_limit or math.inf):
            return None
        cached, written = usage.cached_tokens or 0, usage.cache_write_tokens or 0
        plain = max(0, prompt - cached - written)
        return (
            plain * self.input
            + cached * _either(self.cached_input, self.input)
            + written * _either(self.cache_write, self.input)
            + completion * self.output
        ) / 1e6


def prices_for(model: str, params: Mapping[str, Any]) -> Prices | None:
    """The user's own prices, else those of the table; None where neither knows the model."""
    if (own := params.get("prices")) is not None:
        return Prices(**own)
    if params.get("service_tier") in _OTHER_PRICE:
        return None
    return next((_table()[name] for name in _spellings(model) if name in _table()), None)


def priced(usage: Usage, prices: Prices | None) -> Usage:
    """The usage with its cost: what the provider said, else what the prices make of it."""
    if usage.cost_usd is not None or prices is None:
        return usage
    return attrs.evolve(usage, cost_usd=prices.cost(usage))


def price_faults(own: Any) -> list[str]:
    """What is wrong with the model parameter `prices`; None is not given."""
    where = "--model-params: prices"
    if own is None:
        return []
    if not isinstance(own, Mapping) or not {"input", "output"} <= set(own) <= set(_FIELDS):
        return [
            f"{where} is an object with input and output, and may have {', '.join(_FIELDS[2:])}"
        ]
    return [
        f"{where}.{name} is in US dollars for a million tokens, not {value!r}"
        for name, value in own.items()
        if type(value) not in {int, float} or not 0 <= value <= 1e6
    ]


@cache
def _table() -> Mapping[str, Prices]:
    text = Path(__file__).with_name("prices.json").read_text(encoding="utf-8")
    rows = [row for family in json.loads(text)["families"] for row in family["models"].items()]
    return {model: Prices(**prices) for model, prices in rows}


def _spellings(model: str) -> Iterator[str]:
    """A model's id as given, without its provider, and without its date as well."""
    plain = _PROVIDER.sub("", model.lower(), count=1)
    yield from (model, plain, _DATE.sub("", plain))


def _either(price: float | None, otherwise: float) -> float:
    return otherwise if price is None else price
