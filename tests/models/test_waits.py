"""Row 55 of the cases: waits are as long as asked, spread, bounded, counted and told."""

import json
import logging
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from email.utils import formatdate
from itertools import pairwise
from typing import Any

import attrs
import httpx
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.errors import ModelFailed
from agentcompass.models._adaptive import Gate, Window
from agentcompass.models._endpoints import Endpoint
from agentcompass.models._faults import RateLimited
from agentcompass.models._head import Head
from agentcompass.models._http_conversation import HttpConversation
from agentcompass.models._target import Origin
from agentcompass.models._transport import PooledTransport
from agentcompass.models._waits import retry_after, wait_before_try
from agentcompass.models.openai_chat import OpenAIChat
from agentcompass.records.request import ModelSpec
from tests.loopback import answer
from tests.loopback_models import Said, chat_body
from tests.models.talking import ASK, fault_of

NOW = 1_800_000_000.0
FULL = {"error": {"message": "full"}}


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("0", 0),
        ("2", 2),
        (" 2 ", 2),
        ("1.5", 1.5),
        ("86400", 86400),
        ("-1", None),
        ("nan", None),
        ("inf", None),
        ("1e3", None),
        ("soon", None),
        ("", None),
        ("\u0662", None),
        (formatdate(NOW + 30, usegmt=True), 30),
        (formatdate(NOW - 30, usegmt=True), 0),
        ("Fri, 15 Jan 2027 08:00:09 -0000", 9),
        ("Fri, 99 Foo 2027 00:00:00 GMT", None),
    ],
)
def test_a_header_is_seconds_or_a_date_or_nothing(value: str | None, seconds: float | None):
    assert retry_after(value, NOW) == seconds


@given(
    number=st.integers(1, 2000),
    asked=st.none() | st.floats(0, 1e6),
    dice=st.floats(0, 1, exclude_max=True),
)
def test_a_wait_is_never_shorter_than_asked_and_never_nothing(number, asked, dice):
    """Fails when the larger of the two is not taken."""
    seconds = wait_before_try(number, asked, dice)

    if asked is None and number > 5:
        assert seconds is None
    else:
        assert seconds is not None
        assert seconds >= max(asked or 0, 0.5)
        assert seconds <= max(60, (asked or 0) * 1.1)


def test_the_dice_spread_a_wait():
    assert (wait_before_try(3, None, 0), wait_before_try(3, None, 1)) == (2, 4)
    assert wait_before_try(1, 100, 0) == 100
    assert wait_before_try(1, 100, 1) == pytest.approx(110)


@attrs.define(eq=False)
class Scripted:
    """Answers by a script on the virtual clock; `asked_at` holds when it was asked."""

    answers: Sequence[tuple[int, dict[str, str]]]
    asked_at: list[float] = attrs.field(factory=list)

    def lease(self, _origin: Origin) -> "ScriptedLease":
        return ScriptedLease(self)

    def answer(self) -> tuple[int, dict[str, str], Any]:
        number = min(len(self.asked_at), len(self.answers) - 1)
        self.asked_at.append(trio.current_time())
        status, headers = self.answers[number]
        return status, headers, chat_body(Said()) if status == 200 else FULL


@attrs.define(eq=False)
class ScriptedLease(AbstractAsyncContextManager["ScriptedLease"]):
    """One exchange of it."""

    transport: Scripted
    parts: list[bytes] = attrs.field(factory=list)

    async def __aexit__(self, *exc: object) -> None:
        return

    async def ask(self, _request: bytes) -> Head:
        status, headers, body = self.transport.answer()
        self.parts = [json.dumps(body).encode()]
        return Head(status, [(k.lower().encode(), v.encode()) for k, v in headers.items()])

    async def data(self) -> bytes | None:
        return self.parts.pop() if self.parts else None


def scripted(*answers: tuple[int, dict[str, str]], **params: Any) -> tuple[HttpConversation, Any]:
    transport = Scripted(answers)
    endpoint = Endpoint(key=("", "", ""), transport=PooledTransport(1), gate=Gate(Window(1, 1)))
    spec = ModelSpec(id="m", base_url="http://x/v1", params=params)
    model = OpenAIChat(spec, replies=None, connections=1)
    line = model.line_to(httpx.URL("http://x/v1"), endpoint)
    endpoint.transport = transport  # type: ignore[assignment]
    return HttpConversation(line=line), transport


@pytest.mark.parametrize("status", [429, 529, 503])
async def test_a_wait_is_as_long_as_asked(status: int, autojump_clock, caplog):
    caplog.set_level(logging.INFO)
    chat, transport = scripted((status, {"Retry-After": "20"}), (200, {}))

    reply = await chat.complete(ASK)

    assert reply.message["content"] == "hi"
    assert reply.seconds == 0
    assert 20 <= transport.asked_at[1] <= 22
    spent = chat.spent()
    assert (spent["calls"], spent["waits"], spent["retries"]) == (2, 1, 1)
    assert spent["seconds_waited"] == pytest.approx(transport.asked_at[1], abs=0.01)
    assert f"HTTP {status}: full; waiting 2" in caplog.text


async def test_a_date_is_waited_for(autojump_clock, monkeypatch):
    monkeypatch.setattr("time.time", lambda: NOW)
    chat, transport = scripted((429, {"Retry-After": formatdate(NOW + 40, usegmt=True)}), (200, {}))

    await chat.complete(ASK)

    assert 40 <= transport.asked_at[1] <= 44


async def test_who_does_not_say_how_long_is_asked_five_times_more(autojump_clock):
    chat, transport = scripted((429, {}))

    with pytest.raises(RateLimited, match=r"HTTP 429: full \(given up after 6 tries\)"):
        await chat.complete(ASK)

    gaps = [b - a for a, b in pairwise(transport.asked_at)]
    bounds = zip(gaps, (1, 2, 4, 8, 16), strict=True)
    assert all(longest / 2 <= gap <= longest for gap, longest in bounds)


async def test_nothing_asked_for_again_and_again_grows_and_ends_with_the_call(autojump_clock):
    """Retry-After: 0 for ever must not become a busy loop."""
    chat, transport = scripted((429, {"Retry-After": "0"}))

    with pytest.raises(RateLimited, match="longer than the"):
        await chat.complete(ASK)

    assert 600 - 60 <= trio.current_time() <= 600
    assert len(transport.asked_at) < 40


@pytest.mark.parametrize("seconds", ["86400", "601"])
async def test_a_wait_longer_than_the_call_fails_at_once(seconds: str, autojump_clock):
    chat, transport = scripted((429, {"Retry-After": seconds}))

    with pytest.raises(ModelFailed, match="a wait of") as caught:
        await chat.complete(ASK)

    assert trio.current_time() == 0
    assert len(transport.asked_at) == 1
    assert (caught.value.severity, caught.value.status_code) == ("fatal", 429)
    assert caught.value.code == "model_failed"


async def test_a_wait_longer_than_the_harness_deadline_fails_at_once(autojump_clock):
    chat, _ = scripted((429, {"Retry-After": "30"}))

    with trio.move_on_after(20) as attempt:
        with pytest.raises(RateLimited, match=r"longer than the 20\.0 s that are left"):
            await chat.complete(ASK)

    assert not attempt.cancelled_caught


async def test_a_deadline_that_cuts_a_wait_counts_what_was_waited(autojump_clock):
    chat, _ = scripted((429, {"Retry-After": "30"}))
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(chat.complete, ASK)
            await trio.sleep(10)
            scope.cancel()

    assert chat.spent()["seconds_waited"] == 10


@pytest.mark.parametrize(
    ("status", "headers"), [(500, {"Retry-After": "1"}), (401, {"Retry-After": "1"}), (503, {})]
)
async def test_what_waiting_does_not_mend_is_not_waited_for(status, headers, autojump_clock):
    chat, transport = scripted((status, headers))

    with pytest.raises(ModelFailed) as caught:
        await chat.complete(ASK)

    assert len(transport.asked_at) == 1
    assert caught.value.severity == "fatal"


async def test_no_credit_is_no_rate_limit():
    body = {"error": {"message": "pay first", "code": "insufficient_quota"}}

    fault, spent = await fault_of("openai-chat", answer(body, status=429, Retry_After="1"))

    assert (fault.severity, fault.status_code, spent["calls"]) == ("fatal", 429, 1)
    assert not isinstance(fault, RateLimited)


async def test_an_overload_in_the_middle_of_an_answer_is_waited_out(autojump_clock):
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "later"}}

    class Overloaded(Scripted):
        def answer(self) -> tuple[int, dict[str, str], Any]:
            usual = super().answer()
            return (200, {}, error) if len(self.asked_at) == 1 else usual

    chat, _ = scripted((200, {}))
    chat.line.endpoint.transport = Overloaded([(200, {})])  # type: ignore[assignment]

    assert (await chat.complete(ASK)).message["content"] == "hi"
    assert chat.spent()["waits"] == 1


async def test_twenty_who_were_refused_together_come_back_apart(autojump_clock):
    chat, transport = scripted(*[(429, {"Retry-After": "10"})] * 20, (200, {}))
    async with trio.open_nursery() as nursery:
        for _ in range(20):
            conversation = HttpConversation(line=chat.line)
            nursery.start_soon(conversation.complete, ASK)

    assert len(transport.asked_at) == 40
    assert len({round(at, 3) for at in transport.asked_at[20:]}) > 10
