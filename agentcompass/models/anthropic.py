"""Anthropic's Messages API over HTTP."""

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs

from agentcompass.models._anthropic_ask import MAX_TOKENS, ask_anthropic
from agentcompass.models._anthropic_reply import AnthropicStream, read_anthropic
from agentcompass.models._dialect import Dialect
from agentcompass.models._http_model import HttpModel
from agentcompass.models._params import OverHttp
from agentcompass.models._usage import anthropic_usage

_VERSION = "2023-06-01"


def _credentials(key: str) -> Mapping[str, str]:
    return {"anthropic-version": _VERSION, **({"x-api-key": key} if key else {})}


@attrs.frozen(kw_only=True)
class AnthropicParams(OverHttp):
    """The parameters of `anthropic`; the API wants `max_tokens` to be said."""

    max_tokens: int = attrs.field(
        default=MAX_TOKENS, metadata={"help": "The longest reply, in tokens."}
    )


class Anthropic(HttpModel):
    """Posts to `{base_url}/v1/messages`, with `/v1` not doubled."""

    id: ClassVar[str] = "anthropic"
    description: ClassVar[str] = "Anthropic's Messages API over HTTP"
    Params: ClassVar[type[Any]] = AnthropicParams
    dialect: ClassVar[Dialect] = Dialect(
        path="/v1/messages",
        overlap="/v1",
        owned=("messages", "system", "tools"),
        streaming={},
        credentials=_credentials,
        ask=ask_anthropic,
        usage=anthropic_usage,
        read=read_anthropic,
        assembler=AnthropicStream,
        wants_reasoning_back=True,
    )
