"""One reply of a model, and what it cost."""

from collections.abc import Mapping
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
class Reply:
    """An assistant message in OpenAI chat form, why it stopped, and the seconds it took."""

    message: Mapping[str, Any]
    finish_reason: str | None = None
    usage: Usage = Usage()
    seconds: float = 0.0
