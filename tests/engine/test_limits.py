"""Limits are shared where they are the process's, and given back whatever happens."""

import pytest
import trio
import trio.testing

from agentcompass.engine.limits import Limits, provider_limiter, set_provider_limits
from agentcompass.engine.lines import Tokens


async def test_two_requests_share_a_providers_limit(autojump_clock: trio.abc.Clock) -> None:
    set_provider_limits({"P": 2}, {})
    live, peak = 0, 0

    async def use(limits: Limits) -> None:
        nonlocal live, peak
        async with limits.admit("P"):
            live += 1
            peak = max(peak, live)
            await trio.sleep(1)
            live -= 1

    one, two = Limits(Tokens(9)), Limits(Tokens(9))
    async with trio.open_nursery() as nursery:
        for limits in (one, two) * 4:
            nursery.start_soon(use, limits)

    assert peak == 2
    assert trio.current_time() == 4


async def test_who_waits_for_a_full_provider_takes_no_slot(
    autojump_clock: trio.abc.Clock,
) -> None:
    set_provider_limits({"P": 1}, {})
    limits = Limits(Tokens(2))
    finished: dict[str, float] = {}

    async def use(provider: str, name: str) -> None:
        async with limits.admit(provider):
            await trio.sleep(10)
        finished[name] = trio.current_time()

    async with trio.open_nursery() as nursery:
        for number in range(3):
            nursery.start_soon(use, "P", f"p{number}")
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(use, "Q", "q")

    assert finished["q"] == 10


async def test_the_same_provider_keeps_its_permit_on_a_move() -> None:
    set_provider_limits({"P": 1}, {})
    limits = Limits(Tokens(1))
    async with limits.admit("P") as permit:
        await permit.move_to("P")
        limiter = provider_limiter("P")
        assert limiter is not None
        assert limiter.borrowed_tokens == 1


async def test_a_move_to_nothing_gives_the_provider_back_and_keeps_the_slot() -> None:
    set_provider_limits({"P": 1}, {})
    limits = Limits(Tokens(1))
    async with limits.admit("P") as permit:
        await permit.move_to(None)
        limiter = provider_limiter("P")
        assert limiter is not None
        assert (limiter.borrowed_tokens, limits.slots.borrowed_tokens) == (0, 1)
    assert limits.slots.borrowed_tokens == 0


async def test_a_cancelled_move_leaves_nothing_borrowed(autojump_clock: trio.abc.Clock) -> None:
    set_provider_limits({"P": 1, "Q": 1}, {})
    limits = Limits(Tokens(2))
    async with limits.admit("Q"):
        with trio.move_on_after(5) as scope:
            async with limits.admit("P") as permit:
                await permit.move_to("Q")

        assert scope.cancelled_caught
        assert limits.slots.borrowed_tokens == 1
        limiter = provider_limiter("P")
        assert limiter is not None
        assert limiter.borrowed_tokens == 0


@pytest.mark.parametrize("named", [{}, {"P": 3}])
async def test_a_limit_that_nobody_names_stays(named: dict[str, int | None]) -> None:
    set_provider_limits({"P": 3}, {})
    set_provider_limits(named, {})

    limiter = provider_limiter("P")
    assert limiter is not None
    assert limiter.total_tokens == 3


async def test_zero_is_no_limit_once_config_made_it_none(
    autojump_clock: trio.abc.Clock,
) -> None:
    set_provider_limits({"P": None}, {})
    limits = Limits(Tokens(500))

    async def use() -> None:
        async with limits.admit("P"):
            await trio.sleep(1)

    async with trio.open_nursery() as nursery:
        for _ in range(500):
            nursery.start_soon(use)

    assert trio.current_time() == 1
