"""What leaves a nursery alone leaves it as it was raised."""

from collections.abc import Awaitable, Callable

import pytest
import trio
import trio.testing

from agentcompass.groups import bare_errors, bare_interrupts

Work = Callable[[], Awaitable[object]]


def fails(error: Exception) -> Work:
    async def fail() -> None:
        raise error

    return fail


async def fail_once_cancelled() -> None:
    try:
        await trio.sleep_forever()
    finally:
        raise KeyError("mine")


async def run_together(*works: Work, then: Callable[[], None] = lambda: None) -> None:
    """Run them in one nursery, and do the last thing once all of them wait."""
    with bare_errors():
        async with trio.open_nursery() as nursery:
            for work in works:
                nursery.start_soon(work)
            await trio.testing.wait_all_tasks_blocked()
            then()


async def test_a_lone_exception_leaves_its_group() -> None:
    error = KeyError("mine")
    with pytest.raises(KeyError) as caught:
        await run_together(fails(error))

    assert caught.value is error
    assert error.__context__ is None


async def test_a_group_that_was_raised_stays_one() -> None:
    with pytest.raises(ExceptionGroup) as caught:
        await run_together(fails(ExceptionGroup("mine", [KeyError("a")])))

    assert caught.value.message == "mine"


async def test_several_exceptions_stay_a_group() -> None:
    with pytest.raises(ExceptionGroup) as caught:
        await run_together(fails(KeyError("a")), fails(KeyError("b")))

    assert len(caught.value.exceptions) == 2


async def test_a_cancellation_beside_it_does_not_count() -> None:
    scope = trio.CancelScope()

    async def cancelled() -> None:
        with scope:
            await run_together(fail_once_cancelled, trio.sleep_forever, then=scope.cancel)

    with pytest.raises(KeyError, match="mine"):
        await cancelled()


async def test_a_cancellation_alone_is_passed_on() -> None:
    with trio.CancelScope() as scope:
        await run_together(trio.sleep_forever, trio.sleep_forever, then=scope.cancel)

    assert scope.cancelled_caught


def raise_inside(error: BaseException) -> None:
    with bare_interrupts():
        raise error


def test_an_interrupt_leaves_all_of_its_groups_and_what_ended_beside_it() -> None:
    struck = KeyboardInterrupt()
    inner = BaseExceptionGroup("a nursery", [ValueError("a"), BaseExceptionGroup("b", [struck])])
    with pytest.raises(KeyboardInterrupt) as caught:
        raise_inside(BaseExceptionGroup("a nursery", [KeyError("c"), inner]))

    assert caught.value is struck


def test_without_an_interrupt_nothing_leaves_its_group() -> None:
    error = ExceptionGroup("a nursery", [ExceptionGroup("b", [KeyError("c")])])
    with pytest.raises(ExceptionGroup) as caught:
        raise_inside(error)

    assert caught.value is error
