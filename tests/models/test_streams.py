"""Streams that break, lie or omit: row 61 of the cases."""

import random
from itertools import pairwise
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcompass.errors import ModelFailed
from agentcompass.models._events import EventReader
from agentcompass.models._reading import Unusable
from tests.loopback import hang
from tests.loopback_models import PROTOCOLS, Said, events_of, stream, streamed, written
from tests.models.talking import ASK, fault_of, model_of, talking

SAID = Said(
    text="good \u2603 day", calls=[("c1", "bash", '{"command": "ls"}')], finish="tool_calls"
)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("pieces", [2, 7, 10_000])
async def test_pieces_of_any_size_come_together(protocol: str, pieces: int):
    async with talking(protocol, streamed(protocol, SAID, pieces=pieces)) as (chat, _):
        reply = await chat.complete(ASK)

    assert reply.message["content"] == "good \u2603 day"
    assert reply.message["tool_calls"][0]["function"]["arguments"] == '{"command": "ls"}'
    assert reply.usage.prompt_tokens == 100


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_connection_cut_in_the_middle_is_a_fault_that_keeps_the_text(protocol: str):
    data = written(events_of(protocol, SAID))
    middle = data.index(b"\\u2603") + 400

    fault, spent = await fault_of(protocol, stream(data[:middle], clean=False))

    assert (fault.severity, fault.code, fault.status_code) == ("error", "model_failed", None)
    assert "broke off" in str(fault)
    assert fault.partial.startswith("good \u2603")
    assert "it had said: good \u2603" in str(fault)
    assert (spent["failed_calls"], spent["calls_without_usage"]) == (1, 1)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_stream_that_ends_early_without_a_cut_is_a_fault_too(protocol: str):
    data = written(events_of(protocol, SAID))
    middle = data.index(b"\\u2603") + 400
    middle = data.index(b"\n\n", middle) + 2

    fault, _ = await fault_of(protocol, stream(data[:middle]))

    assert "the stream ended before its last event" in str(fault)


@pytest.mark.parametrize("clean", [True, False])
async def test_a_missing_done_is_forgiven_once_the_reason_to_stop_has_come(clean: bool):
    data = written(events_of("openai-chat", SAID), done=False)
    acts = stream(data, clean=clean)
    if clean:
        async with talking("openai-chat", acts) as (chat, _):
            reply = await chat.complete(ASK)
        assert (reply.finish_reason, reply.usage.prompt_tokens) == ("tool_calls", 100)
    else:
        fault, spent = await fault_of("openai-chat", acts)
        assert "broke off" in str(fault)
        assert spent["prompt_tokens"] == 100


async def test_a_last_event_without_its_blank_line_counts():
    data = written(events_of("anthropic", SAID)).removesuffix(b"\n\n")
    async with talking("anthropic", stream(data)) as (chat, _):
        reply = await chat.complete(ASK)

    assert reply.finish_reason == "tool_calls"


async def test_half_a_character_at_the_cut_is_the_cut_that_it_is():
    data = b'data: {"choices": [{"index": 0, "delta": {"content": "a \xe2\x98'

    fault, _ = await fault_of("openai-chat", stream(data, clean=False))

    assert "broke off" in str(fault)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'data: {"choices": "\xe2\x98"}\n\n', "not UTF-8"),
        (b"data: {oops}\n\n", "not JSON"),
        (b"data: []\n\n", "event of the stream is list"),
        (b'data: {"choices": "x"}\n\n', "choices is str"),
        (b'data: {"choices": [{"delta": "x"}]}\n\n', "delta is str"),
        (b'data: {"choices": [{"delta": {"tool_calls": [null]}}]}\n\n', "tool call is missing"),
        (b": only a comment\n\n", "ended before its last event"),
        (b"data: [DONE]\n\n", "no choices"),
        (b"", "ended before its last event"),
    ],
)
async def test_what_is_no_stream_of_chunks_is_a_typed_fault(data: bytes, said: str):
    fault, _ = await fault_of("openai-chat", stream(data))

    assert said in str(fault)
    assert fault.severity == "error"


ERRORS: dict[str, tuple[Any, int]] = {
    "openai-chat": ({"error": {"code": 502, "message": "upstream"}}, 502),
    "openai-responses": ({"type": "error", "code": "server_error", "message": "upstream"}, 500),
    "anthropic": ({"type": "error", "error": {"type": "api_error", "message": "upstream"}}, 500),
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_an_error_in_the_middle_is_weighed_like_a_status_of_its_own(protocol: str):
    event, status = ERRORS[protocol]
    events = [event] if protocol == "openai-responses" else [*events_of(protocol, SAID)[:4], event]

    fault, spent = await fault_of(protocol, stream(written(events)))

    assert "upstream" in str(fault)
    assert (fault.severity, fault.status_code) == ("fatal", status)
    assert spent["failed_calls"] == 1


async def test_a_response_that_failed_says_why():
    failed = {"status": "failed", "output": [], "error": {"code": "server_error", "message": "x"}}
    events = [{"type": "response.failed", "response": failed}]

    fault, _ = await fault_of("openai-responses", stream(written(events)))

    assert "server_error: x" in str(fault)


async def test_items_count_where_the_last_event_of_a_response_has_none():
    events = events_of("openai-responses", SAID)
    events[-1]["response"] = {**events[-1]["response"], "output": []}
    async with talking("openai-responses", stream(written(events))) as (chat, _):
        reply = await chat.complete(ASK)

    assert reply.message["content"] == "good \u2603 day"
    assert reply.message["tool_calls"][0]["id"] == "c1"


async def test_the_input_of_a_tool_that_was_cut_is_left_to_the_harness():
    """The model ran into its token limit in the middle of a call."""
    events = [
        event
        for event in events_of("anthropic", SAID)
        if event.get("delta", {}).get("partial_json") not in set("}")
    ]
    async with talking("anthropic", stream(written(events))) as (chat, _):
        reply = await chat.complete(ASK)

    assert reply.message["tool_calls"][0]["function"]["arguments"] == '{"command": "ls"'


async def test_calls_without_an_index_are_told_apart_by_their_ids():
    def chunk(*calls: Any) -> dict[str, Any]:
        return {"choices": [{"delta": {"tool_calls": list(calls)}}]}

    events = [
        chunk({"id": "a", "function": {"name": "x", "arguments": "{"}}),
        chunk({"function": {"arguments": "}"}}),
        chunk({"id": "b", "function": {"name": "y", "arguments": "{}"}}),
        {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]},
    ]
    async with talking("openai-chat", stream(written(events, done=True))) as (chat, _):
        reply = await chat.complete(ASK)

    found = [(c["id"], c["function"]["arguments"]) for c in reply.message["tool_calls"]]
    assert found == [("a", "{}"), ("b", "{}")]


async def test_pieces_of_reasoning_details_are_joined():
    def chunk(**piece: Any) -> dict[str, Any]:
        return {"choices": [{"delta": {"reasoning_details": [{"index": 0, **piece}]}}]}

    end = {"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}]}
    events = [chunk(type="reasoning.text", text="a"), chunk(text="b"), chunk(signature="s"), end]
    async with talking("openai-chat", stream(written(events, done=True))) as (chat, _):
        reply = await chat.complete(ASK)

    details = [{"index": 0, "type": "reasoning.text", "text": "ab", "signature": "s"}]
    assert reply.message["reasoning_details"] == details


async def test_a_server_that_holds_the_connection_open_after_the_last_event_is_left():
    data = written(events_of("openai-chat", SAID), done=True)

    async def act(exchange: Any) -> None:
        await stream(data, clean=True)(attrs_without_end(exchange))
        await hang(exchange)

    async with talking("openai-chat", act) as (chat, _):
        with trio.fail_after(30):
            reply = await chat.complete(ASK)

    assert reply.finish_reason == "tool_calls"


def attrs_without_end(exchange: Any) -> Any:
    """An exchange that never says that its answer is over."""

    class Open:
        stream = exchange.stream

        async def send(self, *events: Any) -> None:
            if type(events[0]).__name__ != "EndOfMessage":
                await exchange.send(*events)

    return Open()


async def test_streams_cancelled_anywhere_leave_the_pool_usable():
    """50 times on a pool of 4, then one call more."""
    dice = random.Random(61)
    acts = streamed("openai-chat", SAID, pieces=40)
    async with talking("openai-chat", acts) as (chat, server):
        for _ in range(50):
            with trio.move_on_after(dice.uniform(0, 0.02)):
                await chat.complete(ASK)
        with trio.fail_after(20):
            assert (await chat.complete(ASK)).finish_reason == "tool_calls"
        assert chat.line.endpoint.transport.slots.borrowed_tokens == 0

    assert server.opened <= 52


async def test_a_stream_to_its_end_keeps_the_connection():
    async with talking("openai-chat", streamed("openai-chat", SAID)) as (chat, server):
        for _ in range(5):
            await chat.complete(ASK)

    assert server.opened == 1


lines = st.text(st.characters(exclude_characters="\r\n", codec="utf-8"), min_size=1)
datas = st.lists(st.lists(lines, min_size=1, max_size=3))


@settings(deadline=None)
@given(datas=datas, end=st.sampled_from(["\n", "\r\n", "\r"]), cuts=st.data())
def test_events_are_read_the_same_however_they_are_cut(datas, end, cuts):
    """Fails when a CR at the end of a piece is taken for the end of a line."""
    events = (f"event: x{end}" + "".join(f"data: {line}{end}" for line in of) for of in datas)
    text = "".join(f"{event}: comment{end}{end}" for event in events).encode()
    places = cuts.draw(st.lists(st.integers(0, len(text)), max_size=8).map(sorted))
    bounds = [0, *places, len(text)]
    reader = EventReader()
    found = [data for start, stop in pairwise(bounds) for data in reader.feed(text[start:stop])]
    found += reader.close()

    assert found == ["\n".join(lines) for lines in datas]


def test_lines_of_one_event_are_joined_and_bad_text_is_unusable():
    reader = EventReader()

    assert list(reader.feed(b"data: a\ndata:b\nid: 1\n\n")) == ["a\nb"]
    with pytest.raises(Unusable, match="UTF-8"):
        list(reader.feed(b"data: \xff\n\n"))


async def test_the_model_is_closed_with_its_stream_half_read():
    data = written(events_of("openai-chat", SAID))[:300]

    async def act(exchange: Any) -> None:
        await stream(data)(attrs_without_end(exchange))
        await hang(exchange)

    async with talking("openai-chat", act, request_timeout=0.3) as (chat, server):
        with pytest.raises(ModelFailed, match="request_timeout"):
            await chat.complete(ASK)
        await server.quiet()
    assert model_of("openai-chat", server.url)
