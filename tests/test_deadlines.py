"""Deadlines name their stretch; cleanup is shielded and bounded."""

import pytest
import trio

from agentcompass.deadlines import CleanupClock, cleanup, deadline
from agentcompass.errors import EnvironmentFailed, PhaseTimeout


async def test_a_stretch_times_out_after_its_own_deadline(autojump_clock: trio.abc.Clock) -> None:
    with pytest.raises(PhaseTimeout, match="run_harness timeout: exceeded 3600 s"):
        with deadline(3600, stretch="run_harness"):
            await trio.sleep_forever()

    assert trio.current_time() == 3600


async def test_the_deadline_counts_from_entry(autojump_clock: trio.abc.Clock) -> None:
    scope = deadline(2, stretch="evaluate")
    await trio.sleep(3)

    with scope:
        await trio.sleep(1.9)


async def test_no_deadline_never_fires(autojump_clock: trio.abc.Clock) -> None:
    with deadline(None, stretch="x"):
        await trio.sleep(80_000)


@pytest.mark.parametrize("seconds", [0, -1])
async def test_a_used_up_budget_has_expired(seconds: float, autojump_clock: trio.abc.Clock) -> None:
    with pytest.raises(EnvironmentFailed):
        with deadline(seconds, stretch="open", error=EnvironmentFailed):
            await trio.sleep(0.001)


async def test_an_outer_deadline_is_not_blamed_on_the_inner(
    autojump_clock: trio.abc.Clock,
) -> None:
    with trio.move_on_after(1) as outer:
        with deadline(5, stretch="inner"):
            await trio.sleep_forever()

    assert outer.cancelled_caught


async def test_a_foreign_timeout_passes_through(autojump_clock: trio.abc.Clock) -> None:
    with pytest.raises(TimeoutError, match="theirs"):
        with deadline(5, stretch="x"):
            raise TimeoutError("theirs")


async def test_cleanup_runs_in_a_cancelled_scope_until_its_end(
    autojump_clock: trio.abc.Clock,
) -> None:
    clock = CleanupClock(30.0)
    with trio.move_on_after(1):
        try:
            await trio.sleep_forever()
        finally:
            with cleanup(clock) as scope:
                await trio.sleep_forever()

    assert scope.cancelled_caught
    assert trio.current_time() == 31


async def test_cleanups_after_a_cancellation_share_one_end(
    autojump_clock: trio.abc.Clock,
) -> None:
    clock = CleanupClock(30.0)
    clock.cancelled()
    await trio.sleep(20)
    with cleanup(clock):
        await trio.sleep_forever()
    with cleanup(clock):
        await trio.sleep_forever()

    assert trio.current_time() == 30


async def test_each_normal_close_has_a_bound_of_its_own(autojump_clock: trio.abc.Clock) -> None:
    clock = CleanupClock(30.0)
    for _ in range(2):
        with cleanup(clock):
            await trio.sleep_forever()

    assert trio.current_time() == 60
