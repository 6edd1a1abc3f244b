"""Starts the tasks of a request as there is room for them, so that few are alive at once."""

from collections import deque
from collections.abc import Callable, Iterable
from typing import TypeVar

import trio

from agentcompass.engine.limits import Limits, provider_limiter

T = TypeVar("T")


async def start_in_turn(
    limits: Limits, providers: Iterable[str], tasks: Iterable[T], start: Callable[[T], None]
) -> None:
    """Start every task, in order; return when none is left.

    Which provider a task needs is known once it is planned. So a scout queues for each provider,
    behind the tasks that wait already, and then for a slot; when it has been let in, there was room
    for one more of that provider, and as many tasks as there are slots are started. Therefore, as
    long as tasks are left, each provider is full or no slot is free: nothing waits unstarted that
    could run. The limits are asked anew each time, and may change.
    """
    waiting = deque(tasks)
    turn = trio.Lock()

    async def scout(provider: str) -> None:
        while waiting:
            await _let_in(limits, provider)
            async with turn:
                for _ in range(int(min(len(waiting), limits.slots.total_tokens))):
                    start(waiting.popleft())
                    await trio.lowlevel.checkpoint()  # so that tasks queue in their order
        nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        for provider in providers:
            nursery.start_soon(scout, provider, name=f"start tasks for {provider}")
    limits.room.set()


async def _let_in(limits: Limits, provider: str) -> None:
    await limits.until_resumed()
    # One after the other: who holds a permit while waiting for a slot keeps it from other requests.
    limiter = provider_limiter(provider)
    if not limiter.available_tokens and _leaves_slots_free(limiter, limits.slots):
        limits.room.set()
    async with limiter:
        pass
    async with limits.slots:
        pass


def _leaves_slots_free(full: trio.CapacityLimiter, slots: trio.CapacityLimiter) -> bool:
    """Whether a slot is free, or may become so, while that many work at a provider that is full."""
    return slots.available_tokens > 0 or full.total_tokens < slots.total_tokens
