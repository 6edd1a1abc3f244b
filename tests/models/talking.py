"""A model of any protocol in conversation with a scripted server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agentcompass.errors import ModelFailed
from agentcompass.models._http_conversation import HttpConversation
from agentcompass.models._http_model import HttpModel
from agentcompass.records.request import ModelSpec
from agentcompass.registry import load
from tests.loopback import Act, Server, serve

KEY = "sk-very-secret-1234567890"
ASK = [{"role": "user", "content": "hello"}]


def model_of(protocol: str, base_url: str = "", *, name: str = "m", **params: Any) -> HttpModel:
    spec = ModelSpec(id=name, base_url=base_url, api_key=KEY, params=params)
    return load("model", protocol)(spec, replies=None, connections=4)


@asynccontextmanager
async def talking(
    protocol: str, *script: Act, **params: Any
) -> AsyncIterator[tuple[HttpConversation, Server]]:
    """A conversation, and the server that answers by the script."""
    async with serve(*script) as server, model_of(protocol, server.url, **params) as model:
        yield model.conversation("t", 1), server


async def fault_of(protocol: str, *script: Act, **params: Any) -> tuple[ModelFailed, Any]:
    """The fault of one call, and what the conversation spent."""
    async with talking(protocol, *script, **params) as (chat, _):
        with pytest.raises(ModelFailed) as caught:
            await chat.complete(ASK)
    return caught.value, chat.spent()
