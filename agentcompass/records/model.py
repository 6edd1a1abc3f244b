"""One reply of a model, and what it cost."""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import attrs


@attrs.frozen(kw_only=True)
class Usage:
    """Tokens of one call. None is unknown, never 0.

    `cached_tokens` (read from a cache) and `cache_write_tokens` are parts of `prompt_tokens`,
    `reasoning_tokens` of `completion_tokens`.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None
    raw: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class Spent:
    """What calls took together: prompt and completion tokens, US dollars.

    It lacks the replies that did not say so, which are counted, as are the executions of which
    anything is known: where there is none, a sum of 0 is unknown.
    """

    tokens: int = 0
    cost_usd: float = 0.0
    executions_with_usage: int = 0
    executions_with_cost: int = 0
    replies_without_usage: int = 0
    replies_without_cost: int = 0

    def changed(self, before: "Spent", after: "Spent") -> "Spent":
        """The same sums with `after` in place of `before`, which is in them."""
        sums = zip(_sums_of(self), _sums_of(after), _sums_of(before), strict=True)
        return Spent(**{n: s + new - old for n, (s, new, old) in zip(_SPENT, sums, strict=True)})


_SPENT = tuple(attrs.fields_dict(Spent))
_sums_of = attrgetter(*_SPENT)


@attrs.frozen(kw_only=True)
class EndpointTraffic:
    """How an endpoint takes the calls of one run.

    `calls_at_once` of `most_at_once` are admitted, both None where no rate limit is learnt from;
    `waits` counts the calls that were sent again after it had no room.
    """

    endpoint: str
    calls_at_once: int | None = None
    most_at_once: int | None = None
    waits: int = 0
    seconds_waited: float = 0.0


@attrs.frozen(kw_only=True)
class Reply:
    """An assistant message in OpenAI chat form, why it stopped, and the seconds it took."""

    message: Mapping[str, Any]
    finish_reason: str | None = None
    usage: Usage = Usage()
    seconds: float = 0.0
