"""Anthropic's Messages API over HTTP."""

from collections.abc import Mapping
from typing import ClassVar

from agentcompass.models._anthropic_ask import ask_anthropic
from agentcompass.models._anthropic_reply import AnthropicStream, read_anthropic
from agentcompass.models._dialect import Dialect
from agentcompass.models._http_model import HttpModel
from agentcompass.models._usage import anthropic_usage

_VERSION = "2023-06-01"


def _credentials(key: str) -> Mapping[str, str]:
    return {"anthropic-version": _VERSION, **({"x-api-key": key} if key else {})}


class Anthropic(HttpModel):
    """Posts to `{base_url}/v1/messages`, with `/v1` not doubled."""

    id: ClassVar[str] = "anthropic"
    description: ClassVar[str] = "Anthropic's Messages API over HTTP"
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
