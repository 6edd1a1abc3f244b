"""What every protocol gives back alike, whole and streamed."""

import gzip
import json
import zlib

import pytest
import trio

from agentcompass.errors import ContextTooLong
from tests.loopback import answer, serve
from tests.loopback_models import (
    BODIES,
    PROTOCOLS,
    Said,
    asked_for_stream,
    streamed,
    whole,
)
from tests.models.talking import ASK, KEY, fault_of, model_of, talking

SAIDS = {
    "text": Said(text="good day \u2603"),
    "a thought": Said(text="4", thought="2+2"),
    "a cut": Said(text="It was a", finish="length"),
    "one call": Said(text=None, calls=[("c1", "bash", '{"command": "ls"}')], finish="tool_calls"),
    "two calls after text and thought": Said(
        text="I look.",
        thought="hm",
        calls=[("c1", "bash", '{"command": "ls \u2603"}'), ("c2", "bash", "{}")],
        finish="tool_calls",
    ),
}
SHAPES = {"whole": whole, "streamed": streamed}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("said", SAIDS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_reply_is_the_same_by_any_way(protocol: str, said: str, shape: str):
    async with talking(protocol, SHAPES[shape](protocol, SAIDS[said])) as (chat, server):
        reply = await chat.complete(ASK)

    given = SAIDS[said]
    assert reply.message["role"] == "assistant"
    assert reply.message["content"] == given.text
    assert reply.message.get("reasoning_content", "") == given.thought
    assert reply.finish_reason == given.finish
    calls = [
        (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
        for call in reply.message.get("tool_calls", ())
    ]
    assert calls == [(call, name, json.loads(text)) for call, name, text in given.calls]
    usage = reply.usage
    assert (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens) == (100, 40, 20)
    assert usage.reasoning_tokens == (None if protocol == "anthropic" else 5)
    assert usage.cost_usd is None
    assert len(server.asked) == 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_params_reach_the_body_unchanged_and_nothing_streams_unless_asked(protocol: str):
    params = {"temperature": 0.3, "nested": {"a": [1, None]}, "max_tokens": 7}
    ours = {
        "request_timeout": 60,
        "adaptive_concurrency": False,
        "prices": {"input": 1, "output": 1},
    }
    async with talking(protocol, whole(protocol, Said()), **params, **ours) as (chat, server):
        await chat.complete(ASK)

    body = server.asked[0].json()
    history = {name: body.pop(name) for name in ("messages", "input") if name in body}
    assert len(history) == 1
    assert body == {"model": "m", **params}


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_stream_is_asked_for_by_a_parameter(protocol: str):
    async with talking(protocol, asked_for_stream(protocol, Said()), stream=True) as (chat, server):
        reply = await chat.complete(ASK)

    assert server.asked[0].json()["stream"] is True
    assert reply.message["content"] == "hi"
    assert reply.usage.completion_tokens == 20


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "why",
    [
        "This model only support stream mode, please enable the stream parameter.",
        "Stream must be set to true",
        "streaming is required for this model",
    ],
)
async def test_an_endpoint_that_insists_on_a_stream_gets_one_from_then_on(protocol: str, why: str):
    refusal = answer({"error": {"message": why}}, status=400)
    acts = [refusal, asked_for_stream(protocol, Said())]
    async with talking(protocol, *acts) as (chat, server):
        first = await chat.complete(ASK)
        await chat.complete(ASK)

    assert first.message["content"] == "hi"
    assert [asked.json().get("stream") for asked in server.asked] == [None, True, True]
    spent = chat.spent()
    assert (spent["calls"], spent["failed_calls"], spent["retries"]) == (3, 1, 1)
    assert spent["calls_without_usage"] == 0


async def test_an_endpoint_that_refuses_streams_is_not_asked_twice():
    refusal = answer({"error": {"message": "stream is not supported here"}}, status=400)

    fault, spent = await fault_of("openai-chat", refusal)

    assert spent["calls"] == 1
    assert fault.status_code == 400


@pytest.mark.parametrize(
    ("protocol", "base", "target"),
    [
        ("openai-responses", "/v1", "/v1/responses"),
        ("openai-responses", "/v1/responses", "/v1/responses"),
        ("anthropic", "", "/v1/messages"),
        ("anthropic", "/", "/v1/messages"),
        ("anthropic", "/v1", "/v1/messages"),
        ("anthropic", "/v1/messages", "/v1/messages"),
        ("anthropic", "/proxy/v1/?x=1", "/proxy/v1/messages?x=1"),
    ],
)
async def test_nothing_of_the_path_is_doubled(protocol: str, base: str, target: str):
    async with serve(whole(protocol, Said())) as server:
        async with model_of(protocol, server.url.removesuffix("/v1") + base) as model:
            await model.conversation("t", 1).complete(ASK)

    assert server.asked[0].target == target


async def test_the_key_goes_out_as_each_provider_takes_it():
    seen = {}
    for protocol in PROTOCOLS:
        async with talking(protocol, whole(protocol, Said())) as (chat, server):
            await chat.complete(ASK)
        seen[protocol] = server.asked[0].headers

    assert seen["openai-responses"]["authorization"] == f"Bearer {KEY}"
    assert seen["anthropic"]["x-api-key"] == KEY
    assert seen["anthropic"]["anthropic-version"] == "2023-06-01"
    assert "authorization" not in seen["anthropic"]


UNUSABLE = {
    "openai-responses": [
        ({"id": "x"}, "no output"),
        ({"output": "x"}, "output is str"),
        ({"output": [None]}, "item is missing or null"),
        ({"output": [], "status": "queued"}, "'queued'"),
        ({"output": [], "error": {"code": "server_error", "message": "oops"}}, "oops"),
        (b"<html>Bad gateway</html>", "not JSON: <html>"),
    ],
    "anthropic": [
        ({"id": "x"}, "no content"),
        ({"content": None}, "no content"),
        ({"content": ["x"]}, "block of the content is str"),
        ({"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}, "no"),
        (b'{"content": [', "not JSON"),
    ],
}


@pytest.mark.parametrize(
    ("protocol", "body", "said"),
    [(protocol, *case) for protocol, cases in UNUSABLE.items() for case in cases],
)
async def test_an_unusable_answer_is_a_typed_fault_with_an_excerpt(protocol, body, said):
    """Row 58 of the cases."""
    fault, spent = await fault_of(protocol, answer(body))

    assert said in str(fault)
    assert fault.code == "model_failed"
    assert spent["failed_calls"] == 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_an_empty_answer_is_legal(protocol: str):
    async with talking(protocol, whole(protocol, Said(text=None))) as (chat, _):
        reply = await chat.complete(ASK)

    assert reply.message["content"] is None
    assert "tool_calls" not in reply.message


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("error", "long"),
    [
        ({"code": "context_length_exceeded", "message": "Too much."}, True),
        ({"message": "This model's maximum context length is 4096 tokens."}, True),
        ({"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"}, True),
        ({"message": "max_tokens: 100000 > 8192, the maximum of output tokens"}, False),
        ({"message": "no such model"}, False),
    ],
)
async def test_a_conversation_that_is_too_long_is_told_apart(protocol: str, error, long: bool):
    fault, _ = await fault_of(protocol, answer({"error": error}, status=400))

    assert isinstance(fault, ContextTooLong) is long
    assert (fault.severity, fault.code, fault.status_code) == ("error", "model_failed", 400)


async def test_a_stop_by_the_context_is_not_a_stop_by_the_token_limit():
    body = {**BODIES["anthropic"](Said()), "stop_reason": "model_context_window_exceeded"}
    async with talking("anthropic", answer(body)) as (chat, _):
        reply = await chat.complete(ASK)

    assert reply.finish_reason == "context_length"


@pytest.mark.parametrize("packing", ["gzip", "deflate"])
async def test_a_packed_answer_that_nobody_asked_for_is_unpacked(packing: str):
    data = json.dumps(BODIES["openai-chat"](Said())).encode()
    packed = gzip.compress(data) if packing == "gzip" else zlib.compress(data)
    async with talking("openai-chat", answer(packed, Content_Encoding=packing)) as (chat, server):
        reply = await chat.complete(ASK)
        assert reply.message["content"] == "hi"

    assert "accept-encoding" not in server.asked[0].headers


@pytest.mark.parametrize(
    ("body", "packing", "said"),
    [
        (b"plain", "gzip", "not packed as it says"),
        (b"plain", "br", "packed with br"),
        (gzip.compress(b" " * (65 * 2**20)), "gzip", "larger than"),
        (gzip.compress(b"{}" * 99)[:-20], "gzip", "not JSON"),
    ],
    ids=["not packed", "unknown packing", "too large", "cut off"],
)
async def test_a_badly_packed_answer_is_a_fault(body: bytes, packing: str, said: str):
    fault, spent = await fault_of("openai-chat", answer(body, Content_Encoding=packing))

    assert said in str(fault)
    assert spent["calls_without_usage"] == 1


async def test_a_redirect_is_named_and_not_followed():
    acts = answer(b"", status=307, Location=f"https://elsewhere/v2?key={KEY}")
    fault, spent = await fault_of("openai-chat", acts)

    assert "HTTP 307: redirected to https://elsewhere/v2?key=********" in str(fault)
    assert (fault.severity, spent["calls"]) == ("error", 1)


async def test_arguments_of_two_megabytes_come_through():
    """Row 59 of the cases; what goes back is for the harness to bound."""
    huge = json.dumps({"command": "x" * 2_000_000})
    said = Said(text=None, calls=[("c1", "bash", huge)], finish="tool_calls")
    async with talking("openai-chat", whole("openai-chat", said)) as (chat, _):
        reply = await chat.complete(ASK)

    assert reply.message["tool_calls"][0]["function"]["arguments"] == huge


async def test_half_a_surrogate_pair_travels_both_ways():
    """Row 24 of the cases."""
    body = b'{"content": [{"type": "text", "text": "\\ud83d"}], "stop_reason": "end_turn"}'
    async with talking("anthropic", answer(body)) as (chat, server):
        reply = await chat.complete([{"role": "user", "content": "\udc00"}])

    assert reply.message["content"] == "\ud83d"
    assert server.asked[0].json()["messages"][0]["content"][0]["text"] == "\udc00"


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_usage_of_an_answer_that_cannot_be_used_is_kept(protocol: str):
    """Row 56 of the cases."""
    body = BODIES[protocol](Said())
    spoilt = {**body, **dict.fromkeys(("choices", "output", "content"), "oops")}
    good = whole(protocol, Said())
    prices = {"input": 1, "output": 2}
    async with talking(protocol, answer(spoilt), good, prices=prices) as (chat, _):
        with pytest.raises(Exception, match="HTTP 200, but"):
            await chat.complete(ASK)
        await chat.complete(ASK)

    spent = chat.spent()
    assert (spent["prompt_tokens"], spent["completion_tokens"]) == (200, 40)
    assert spent["cost_usd"] == pytest.approx((200 + 2 * 40) / 1e6)
    assert (spent["calls"], spent["failed_calls"], spent["calls_without_usage"]) == (2, 1, 0)


async def test_a_call_that_ran_out_of_time_leaves_the_sum_partial():
    async with talking("openai-chat", answer({}, after=60), request_timeout=0.2) as (chat, _):
        with pytest.raises(Exception, match="request_timeout"):
            await chat.complete(ASK)

    spent = chat.spent()
    assert (spent["prompt_tokens"], spent["cost_usd"]) == (None, None)
    assert (spent["calls_without_usage"], spent["calls_without_cost"]) == (1, 1)


async def test_a_cancelled_call_is_counted():
    async with talking("openai-chat", answer({}, after=60)) as (chat, _):
        with trio.move_on_after(0.2):
            await chat.complete(ASK)

    assert (chat.spent()["calls"], chat.spent()["failed_calls"]) == (1, 1)
