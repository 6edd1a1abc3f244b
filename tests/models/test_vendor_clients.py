"""The loopback servers say what the vendors' own clients understand: else ours proves nothing.

The extra `vendors` brings them; without it these tests are skipped.
"""

import json
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest
import trio

from tests.loopback import serve
from tests.loopback_models import PROTOCOLS, Said, asked_for_stream

TOOL = {"type": "object", "properties": {"command": {"type": "string"}}}
SAID = Said(
    text="I look \u2603.",
    thought="hm",
    calls=[("c1", "bash", '{"command": "ls"}'), ("c2", "bash", "{}")],
    finish="tool_calls",
)
Read = tuple[str | None, list[tuple[str, str, Any]], str | None, tuple[int, int, int]]


def chat(base_url: str, *, stream: bool) -> Read:
    openai = import_module("openai")
    function = {"name": "bash", "parameters": TOOL}
    asked = {
        "model": "m",
        "messages": [{"role": "user", "content": "hello"}],
        "tools": [{"type": "function", "function": function}],
    }
    with openai.OpenAI(base_url=base_url, api_key="k", max_retries=0) as client:
        if stream:
            with client.chat.completions.stream(
                **asked, stream_options={"include_usage": True}
            ) as events:
                answer = events.get_final_completion()
        else:
            answer = client.chat.completions.create(**asked)
    choice, usage = answer.choices[0], answer.usage
    calls = choice.message.tool_calls or []
    return (
        choice.message.content,
        [(call.id, call.function.name, json.loads(call.function.arguments)) for call in calls],
        choice.finish_reason,
        (usage.prompt_tokens, usage.prompt_tokens_details.cached_tokens, usage.completion_tokens),
    )


def responses(base_url: str, *, stream: bool) -> Read:
    openai = import_module("openai")
    tool = {"type": "function", "name": "bash", "parameters": TOOL, "strict": False}
    asked = {"model": "m", "input": "hello", "tools": [tool]}
    with openai.OpenAI(base_url=base_url, api_key="k", max_retries=0) as client:
        if stream:
            with client.responses.stream(**asked) as events:
                answer = events.get_final_response()
        else:
            answer = client.responses.create(**asked)
    calls = [item for item in answer.output if item.type == "function_call"]
    usage = answer.usage
    return (
        answer.output_text or None,
        [(call.call_id, call.name, json.loads(call.arguments)) for call in calls],
        "tool_calls" if calls else "stop" if answer.status == "completed" else "length",
        (usage.input_tokens, usage.input_tokens_details.cached_tokens, usage.output_tokens),
    )


def anthropic(base_url: str, *, stream: bool) -> Read:
    package = import_module("anthropic")
    asked = {
        "model": "m",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "hello"}],
        "tools": [{"name": "bash", "input_schema": TOOL}],
    }
    root = base_url.removesuffix("/v1")
    with package.Anthropic(base_url=root, api_key="k", max_retries=0) as client:
        if stream:
            with client.messages.stream(**asked) as events:
                answer = events.get_final_message()
        else:
            answer = client.messages.create(**asked)
    texts = [block.text for block in answer.content if block.type == "text"]
    calls = [block for block in answer.content if block.type == "tool_use"]
    reasons = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length"}
    usage = answer.usage
    prompt = usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens
    return (
        "".join(texts) or None,
        [(call.id, call.name, call.input) for call in calls],
        reasons[answer.stop_reason],
        (prompt, usage.cache_read_input_tokens, usage.output_tokens),
    )


CLIENTS: dict[str, Callable[..., Read]] = {
    "openai-chat": chat,
    "openai-responses": responses,
    "anthropic": anthropic,
}
TARGETS = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
}


SAIDS = {"calls": SAID, "text": Said(), "cut": Said(text="cut", finish="length")}
# The helpers of OpenAI's client take no stream that was cut at its token limit.
CASES = [
    pytest.param(
        protocol,
        said,
        stream,
        id=f"{protocol}-{name}-{'streamed' if stream else 'whole'}",
        marks=pytest.mark.skipif(
            find_spec(protocol.partition("-")[0]) is None,
            reason=f"needs PyPI's {protocol.partition('-')[0]}: pip install -e .[vendors]",
        ),
    )
    for protocol in PROTOCOLS
    for name, said in SAIDS.items()
    for stream in (False, True)
    if not (stream and name == "cut" and protocol != "anthropic")
]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("protocol", "said", "stream"), CASES)
async def test_the_vendors_client_reads_what_the_server_says(
    protocol: str, said: Said, stream: bool
):
    async with serve(asked_for_stream(protocol, said)) as server:
        read = await trio.to_thread.run_sync(lambda: CLIENTS[protocol](server.url, stream=stream))

    calls = [(call, name, json.loads(text)) for call, name, text in said.calls]
    assert read == (said.text, calls, said.finish, (100, 40, 20))
    assert [asked.target for asked in server.asked] == [TARGETS[protocol]]
