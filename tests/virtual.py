"""A loop on a virtual clock that waits for worker threads: to trio a busy thread looks idle."""

import math
from collections.abc import Awaitable, Callable
from functools import partial, wraps
from typing import ParamSpec, TypeVar

import attrs
import trio
from trio.testing import MockClock, active_thread_count

P = ParamSpec("P")
T = TypeVar("T")


@attrs.define(eq=False)
class Patience(trio.abc.Instrument):
    """Hold the clock still while a worker thread is busy."""

    clock: MockClock

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """Set the threshold only when it has to change: setting it wakes the clock's own task."""
        wanted = math.inf if active_thread_count() else 0
        if self.clock.autojump_threshold != wanted:
            self.clock.autojump_threshold = wanted


def run(main: Callable[[], Awaitable[T]]) -> T:
    """Run `main` on a fresh loop whose time jumps when nothing is left to do until later."""
    clock = MockClock(autojump_threshold=0)
    return trio.run(main, clock=clock, instruments=[Patience(clock)])


def on_virtual_time(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Make an async test a plain one that runs by `run`: for code that uses threads."""

    @wraps(test)
    def run_it(*args: P.args, **kwargs: P.kwargs) -> None:
        run(partial(test, *args, **kwargs))

    return run_it
