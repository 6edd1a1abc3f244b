"""One call of the chat protocol, against a server on the loopback interface."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from agentcompass.errors import ConfigInvalid, ModelFailed
from agentcompass.models._http_conversation import HttpConversation
from agentcompass.models.openai_chat import OpenAIChat
from agentcompass.records.request import ModelSpec
from tests.loopback import Act, Server, answer, completion, cut, drip, hang, serve

KEY = "sk-very-secret-1234567890"
ASK = [{"role": "user", "content": "hello"}]


def model(base_url: str = "", *, connections: int = 4, **params: Any) -> OpenAIChat:
    spec = ModelSpec(id="m", base_url=base_url, api_key=KEY, params=params)
    return OpenAIChat(spec, replies=None, connections=connections)


@asynccontextmanager
async def talking(*script: Act, **params: Any) -> AsyncIterator[tuple[HttpConversation, Server]]:
    async with serve(*script) as server, model(server.url, **params) as chat:
        yield chat.conversation("t", 1), server


async def fault_of(*script: Act, **params: Any) -> ModelFailed:
    async with talking(*script, **params) as (chat, _):
        with pytest.raises(ModelFailed) as caught:
            await chat.complete(ASK)
    return caught.value


async def test_a_reply_has_message_reason_usage_and_seconds():
    body = {
        "choices": [{"message": {"role": "assistant", "content": "4"}, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3},
    }
    async with talking(answer(body)) as (chat, _):
        reply = await chat.complete(ASK)

    assert reply.message == {"role": "assistant", "content": "4"}
    assert reply.finish_reason == "length"
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (7, 3)
    assert reply.usage.cached_tokens is None
    assert 0 < reply.seconds < 10


async def test_the_request_carries_params_unchanged_without_ours():
    params = {"temperature": 0.3, "extra_body": {"a": [1, None]}, "request_timeout": 5}
    tools = [{"type": "function", "function": {"name": "bash"}}]
    async with talking(**params) as (chat, server):
        await chat.complete(ASK, tools=tools)

    asked = server.asked[0]
    assert (asked.method, asked.target) == ("POST", "/v1/chat/completions")
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.json() == {
        "model": "m",
        "temperature": 0.3,
        "extra_body": {"a": [1, None]},
        "messages": ASK,
        "tools": tools,
    }


@pytest.mark.parametrize(
    ("base", "target"),
    [
        ("/v1", "/v1/chat/completions"),
        ("/v1/", "/v1/chat/completions"),
        ("", "/chat/completions"),
        ("/v1/chat/completions", "/v1/chat/completions"),
        ("/deployments/x?api-version=1", "/deployments/x/chat/completions?api-version=1"),
    ],
)
async def test_nothing_of_the_path_is_doubled(base: str, target: str):
    async with serve() as server:
        root = server.url.removesuffix("/v1")
        async with model(root + base) as chat:
            await chat.conversation("t", 1).complete(ASK)

    assert server.asked[0].target == target


async def test_credentials_of_the_url_are_sent_as_basic_authorization():
    async with serve() as server:
        spec = ModelSpec(id="m", base_url=server.url.replace("//", "//user:p%40ss@"))
        async with OpenAIChat(spec, replies=None, connections=1) as chat:
            await chat.conversation("t", 1).complete(ASK)

    assert server.asked[0].headers["authorization"] == "Basic dXNlcjpwQHNz"


@pytest.mark.parametrize(
    ("status", "severity"),
    [
        (400, "error"),
        (401, "fatal"),
        (402, "fatal"),
        (403, "fatal"),
        (404, "error"),
        (413, "error"),
        (422, "error"),
        (500, "fatal"),
        (503, "fatal"),
        (307, "error"),
    ],
)
async def test_a_status_decides_how_much_a_fault_weighs(status: int, severity: str):
    """Row 53 and 55 of the cases: one call each, the status kept."""
    async with talking(answer({"error": {"message": "no", "code": "why"}}, status=status)) as (
        chat,
        server,
    ):
        with pytest.raises(ModelFailed) as caught:
            await chat.complete(ASK)

    fault = caught.value
    assert (fault.severity, fault.code, fault.phase) == (severity, "model_failed", "run")
    assert fault.status_code == status
    assert str(fault) == f"HTTP {status}: why: no"
    assert len(server.asked) == 1


async def test_an_excerpt_is_short_and_never_holds_the_key():
    """The key is masked before the cut, which could leave a half of it."""
    fault = await fault_of(answer(b"x" * 190 + KEY.encode() * 9, status=401))

    assert KEY[:8] not in str(fault)
    assert "x********" in str(fault)
    assert len(str(fault)) <= len("HTTP 401: ") + 200


async def test_the_key_is_in_no_repr():
    async with talking() as (chat, _):
        assert KEY not in repr(chat)
        assert KEY not in repr(model())


UNUSABLE = {
    "no choices": ({"choices": []}, "no choices"),
    "null choices": ({"choices": None}, "no choices"),
    "absent choices": ({"id": "x"}, "no choices"),
    "choices of text": ({"choices": "abc"}, "no choices"),
    "null choice": ({"choices": [None]}, "first choice is missing or null"),
    "null message": ({"choices": [{"message": None}]}, "message is missing or null"),
    "message of text": ({"choices": [{"message": "hi"}]}, "message is str"),
    "content of a number": ({"choices": [{"message": {"content": 5}}]}, "content is int"),
    "calls of an object": ({"choices": [{"message": {"tool_calls": {}}}]}, "tool_calls is dict"),
    "a list": ([], "body is list"),
    "null": (None, "body is missing or null"),
    "html": (b"<html><body>Bad gateway</body></html>", "not JSON: <html>"),
    "an empty body": (b"", "not JSON: (an empty body)"),
    "cut JSON": (b'{"choices": [{"mess', "not JSON"),
    "deep JSON": (b"[" * 100_000, "not JSON"),
    "bad UTF-8": (b'{"a": "\xff\xfe"}', "not JSON"),
    "a late error": ({"error": {"message": "overloaded"}}, "an error: overloaded"),
    "an error in text": ({"error": "no such model"}, "no such model"),
}


@pytest.mark.parametrize("name", UNUSABLE)
async def test_an_unusable_answer_is_a_typed_fault_with_an_excerpt(name: str):
    """Row 58 of the cases: never an IndexError, KeyError or TypeError."""
    body, said = UNUSABLE[name]

    fault = await fault_of(answer(body))

    assert said in str(fault)
    assert (fault.severity, fault.code, fault.status_code) == ("error", "model_failed", 200)


async def test_an_error_on_status_200_is_weighed_by_the_code_inside():
    body = {"error": {"message": f"no credit {KEY}", "code": 402}}

    fault = await fault_of(answer(body))

    assert (fault.severity, fault.status_code) == ("fatal", 402)
    assert "402: no credit ********" in str(fault)


@pytest.mark.parametrize(
    ("message", "content"),
    [
        ({"content": None}, None),
        ({"content": None, "tool_calls": [{"id": "1"}]}, None),
        ({}, None),
        ({"content": [{"type": "text", "text": "a"}, "b", {"type": "image"}]}, "ab"),
        ({"content": []}, ""),
    ],
)
async def test_legal_content_is_text_or_nothing(message: Mapping[str, Any], content: str | None):
    async with talking(answer({"choices": [{"message": message}]})) as (chat, _):
        reply = await chat.complete(ASK)

    assert reply.message["content"] == content
    assert reply.message["role"] == "assistant"
    assert reply.message.get("tool_calls") == message.get("tool_calls")
    assert reply.finish_reason is None


async def test_reasoning_is_kept():
    async with talking(completion("4", reasoning_content="2+2", reasoning="r")) as (chat, _):
        reply = await chat.complete(ASK)

    assert reply.message["reasoning_content"] == "2+2"
    assert reply.message["reasoning"] == "r"


async def test_half_a_surrogate_pair_travels_both_ways():
    """Row 24 of the cases."""
    async with talking(answer(b'{"choices": [{"message": {"content": "\\ud83d"}}]}')) as (
        chat,
        server,
    ):
        reply = await chat.complete([{"role": "user", "content": "\udc00", "n": 2**70}])

    assert reply.message["content"] == "\ud83d"
    assert server.asked[0].json()["messages"] == [{"role": "user", "content": "\udc00", "n": 2**70}]


async def test_numbers_that_could_not_be_recorded_are_null():
    body = (
        b'{"choices": [{"message": {"content": "a"}, "logprobs": [NaN, -Infinity, 1e999]}],'
        b' "usage": {"prompt_tokens": 1e999, "x": NaN}}'
    )
    async with talking(answer(body)) as (chat, _):
        reply = await chat.complete(ASK)

    assert reply.usage.prompt_tokens is None
    assert json.dumps(reply.usage.raw, allow_nan=False) == '{"prompt_tokens": null, "x": null}'


SLOW = {
    "a drip": drip(b'{"choices": []}' + b" " * 100, 0.1),
    "silence": hang,
    "a late head": answer({}, after=60),
}


@pytest.mark.parametrize("name", SLOW)
async def test_the_whole_call_has_one_deadline(name: str):
    """Row 5 of the cases: a limit on each read would never fire under a drip."""
    started = trio.current_time()

    fault = await fault_of(SLOW[name], request_timeout=0.5)

    assert trio.current_time() - started < 5
    assert (fault.severity, fault.code) == ("error", "model_timeout")
    assert "exceeded 0.5 s" in str(fault)
    assert "request_timeout" in str(fault)


async def test_an_outer_deadline_is_not_blamed_on_the_call():
    async with talking(hang) as (chat, _):
        with trio.move_on_after(0.1) as outer:
            await chat.complete(ASK)

    assert outer.cancelled_caught


async def test_a_cut_answer_is_a_model_fault():
    fault = await fault_of(cut(b'{"choi'))

    assert (fault.severity, fault.code) == ("error", "model_failed")
    assert "broke off" in str(fault)


async def test_nobody_listening_is_a_model_fault_that_names_host_and_port():
    async with serve() as server:
        pass
    async with model(server.url) as chat:
        with pytest.raises(ModelFailed, match=r"cannot connect to 127\.0\.0\.1:\d+"):
            await chat.conversation("t", 1).complete(ASK)


@pytest.mark.parametrize(
    ("base_url", "key", "params", "said"),
    [
        ("", "", {}, "--model-base-url is required"),
        ("ftp://x/v1", "", {}, "--model-base-url must be like"),
        ("localhost:8000/v1", "", {}, "--model-base-url must be like"),
        ("http://x:port/v1", "", {}, "--model-base-url is not a URL"),
        ("http://u:p@x/v1", "sk-1", {}, "keep one"),
        ("http://x/v1", "sk-1\n", {}, "--model-api-key"),
        ("http://x/v1", "schlüssel", {}, "--model-api-key"),
        ("http://x/v1", "", {"stream": "yes"}, "stream"),
        ("http://x/v1", "", {"adaptive_concurrency": 4}, "adaptive_concurrency"),
        ("http://x/v1", "", {"prices": {"input": 1}}, "prices"),
        ("http://x/v1", "", {"prices": {"input": 1, "output": "2"}}, "prices.output"),
        ("http://x/v1", "", {"prices": {"input": 1, "output": 2, "cash": 1}}, "prices"),
        ("http://x/v1", "", {"messages": []}, "messages"),
        ("http://x/v1", "", {"tools": []}, "tools"),
        ("http://x/v1", "", {"path": "x"}, "replay"),
        ("http://x/v1", "", {"record": "x"}, "record"),
        ("http://${HOST}/v1", "", {}, "whole value only"),
        ("http://x/v1", "", {"budget": 1}, "budget is an option of the execution"),
        ("http://x/v1", "", {"request_timeout": -1}, "request_timeout"),
        ("http://x/v1", "", {"request_timeout": "10"}, "request_timeout"),
        ("http://x/v1", "", {"request_timeout": True}, "request_timeout"),
    ],
)
async def test_preflight_names_what_must_change(
    base_url: str, key: str, params: Mapping[str, Any], said: str
):
    spec = ModelSpec(id="m", base_url=base_url, api_key=key, params=params)

    with pytest.raises(ConfigInvalid) as caught:
        await OpenAIChat(spec, replies=None, connections=1).preflight()

    assert said in str(caught.value)
    assert len(caught.value.faults) == 1
    assert not key or key not in str(caught.value)


async def test_preflight_takes_what_can_be_called():
    spec = ModelSpec(
        id="m", base_url="https://x/v1", params={"stream": False, "request_timeout": 0, "top_p": 1}
    )
    async with OpenAIChat(spec, replies=None, connections=1) as chat:
        await chat.preflight()

        assert chat.conversation("t", 1).line.request_timeout is None
