"""Chat completions over HTTP, as OpenAI and most other providers serve them."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from agentcompass.models._chat_reply import read_chat
from agentcompass.models._chat_stream import ChatStream
from agentcompass.models._dialect import Dialect, Message, bearer
from agentcompass.models._http_model import HttpModel
from agentcompass.models._usage import read_usage


def _ask(
    params: Mapping[str, Any], messages: Sequence[Message], tools: Sequence[Message]
) -> dict[str, Any]:
    body = {**params, "messages": list(messages)}
    return {**body, "tools": list(tools)} if tools else body


class OpenAIChat(HttpModel):
    """Posts to `{base_url}/chat/completions`; messages and tools go out as they are."""

    id: ClassVar[str] = "openai-chat"
    description: ClassVar[str] = "OpenAI-compatible chat completions over HTTP"
    dialect: ClassVar[Dialect] = Dialect(
        path="/chat/completions",
        owned=("messages", "tools"),
        streaming={"stream_options": {"include_usage": True}},
        credentials=bearer,
        ask=_ask,
        usage=read_usage,
        read=read_chat,
        assembler=ChatStream,
    )
