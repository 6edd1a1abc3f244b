"""Starts the tasks of a request as there is room for them, so that few are alive at once."""

from collections import deque
from collections.abc import Callable, Iterable
from typing import TypeVar

import trio

from agentcompass.engine.limits import Limits

T = TypeVar("T")


async def start_in_turn(
    limits: Limits, providers: Iterable[str], tasks: Iterable[T], start: Callable[[T], None]
) -> None:
    """Start every task, in order; return when none is left.

    Which provider a task needs is known once it is planned. So a scout queues for each provider and
    a slot, behind the tasks that wait already; when it has been let in, there was room for one more
    of that provider, and as many tasks as there are slots are started. Therefore, as
    long as tasks are left, each provider is full or no slot is free: nothing waits unstarted that
    could run. The limits are asked anew each time, and may change.
    """
    waiting = deque(tasks)
    turn = trio.Lock()

    async def scout(provider: str) -> None:
        while waiting:
            async with limits.admit(provider):
                pass
            async with turn:
                for _ in range(int(min(len(waiting), limits.slots.total_tokens))):
                    start(waiting.popleft())
                    await trio.lowlevel.checkpoint()  # so that tasks queue in their order
        nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        for provider in providers:
            nursery.start_soon(scout, provider, name=f"start tasks for {provider}")
    limits.room.set()
