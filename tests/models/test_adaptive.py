"""The window of an endpoint: a pure rule, and a gate that follows it on the virtual clock."""

from contextlib import suppress

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.models._adaptive import Gate, Window
from agentcompass.models._faults import RateLimited
from tests.loopback import Exchange, answer
from tests.loopback_models import Said, whole
from tests.models.talking import ASK, talking


@given(most=st.integers(1, 300), outcomes=st.lists(st.booleans(), max_size=200))
def test_a_window_stays_between_one_and_the_slots(most: int, outcomes: list[bool]):
    """Fails without the `min` in `grown`, and without the `max` in `shrunk`."""
    window = Window(most, most)
    for good in outcomes:
        window = window.grown() if good else window.shrunk()
        assert 1 <= window.size <= most
        assert 1 <= window.calls <= most


def test_a_refusal_halves_and_a_round_of_good_calls_adds_one():
    window = Window(64, 64).shrunk()
    assert window.calls == 32

    for _ in range(33):
        window = window.grown()
    assert window.calls == 33


@given(size=st.floats(1, 50), most=st.integers(50, 60), bound=st.integers(1, 80))
def test_another_bound_keeps_what_was_learnt(size: float, most: int, bound: int):
    assert Window(size, most).resized(bound).size == min(size, bound) or size >= most
    assert Window(most, most).resized(bound).size == bound


async def test_calls_that_are_refused_together_are_one_refusal(autojump_clock):
    gate = Gate(Window(16, 16))

    async def refused() -> None:
        with suppress(RateLimited):
            async with gate.admitted():
                await trio.sleep(1)
                raise RateLimited("full", status_code=429, retry_after=None)

    async with trio.open_nursery() as nursery:
        for _ in range(16):
            nursery.start_soon(refused)

    assert gate.window.calls == 8
    assert gate.lowest == 8


async def test_the_gate_finds_what_an_endpoint_can_take(autojump_clock):
    """An endpoint with room for 10 at once, 64 slots: few refusals, and the room is used."""
    gate = Gate(Window(64, 64))
    under_way, refusals, peaks = 0, 0, []

    async def work() -> None:
        nonlocal under_way, refusals
        while True:
            try:
                async with gate.admitted():
                    under_way += 1
                    try:
                        await trio.sleep(1)
                        if under_way > 10:
                            raise RateLimited("full", status_code=429, retry_after=None)
                    finally:
                        under_way -= 1
            except RateLimited:
                refusals += trio.current_time() > 20
                await trio.sleep(1)
            peaks.append(gate.window.calls)

    with trio.move_on_after(200):
        async with trio.open_nursery() as nursery:
            for _ in range(64):
                nursery.start_soon(work)

    settled = peaks[len(peaks) // 3 :]
    assert min(settled) >= 4
    assert max(settled) <= 12
    assert refusals < len(settled) / 3


async def test_a_gate_is_never_entered_beyond_its_window(autojump_clock):
    gate = Gate(Window(8, 8))
    under_way = 0

    async def work(number: int) -> None:
        nonlocal under_way
        async with gate.admitted():
            under_way += 1
            assert under_way <= 8
            await trio.sleep(number % 3 + 1)
            under_way -= 1

    async with trio.open_nursery() as nursery:
        for number in range(50):
            nursery.start_soon(work, number)

    assert gate.window.calls == 8


@pytest.mark.parametrize("adaptive", [True, False])
async def test_it_is_off_unless_asked_for(adaptive: bool):
    full = answer({"error": {"message": "full"}}, status=429, Retry_After="0")
    acts = [full, whole("openai-chat", Said())]
    async with talking("openai-chat", *acts, adaptive_concurrency=adaptive) as (chat, _):
        await chat.complete(ASK)

    lowest = chat.spent().get("lowest_concurrency")
    assert lowest == (2 if adaptive else None)


async def test_a_call_that_waits_for_the_endpoint_holds_no_room():
    """One in the window, and its wait lets the other one through."""
    full = answer({"error": {"message": "full"}}, status=429, Retry_After="3")
    order: list[str] = []

    async def act(exchange: Exchange) -> None:
        name = exchange.asked.json()["messages"][0]["content"]
        order.append(name)
        first = order == ["slow"]
        await (full if first else whole("openai-chat", Said()))(exchange)

    async with talking("openai-chat", act, adaptive_concurrency=True) as (chat, _):
        chat.line.endpoint.gate.resize(1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(chat.complete, [{"role": "user", "content": "slow"}])
            await trio.sleep(0.1)
            nursery.start_soon(chat.complete, [{"role": "user", "content": "quick"}])

    assert order == ["slow", "quick", "slow"]
