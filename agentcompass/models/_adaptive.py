"""How many calls one endpoint is given at once: one more a round, half as many when it refuses."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import attrs
import trio

from agentcompass.models._faults import RateLimited


@attrs.frozen
class Window:
    """Additive increase, multiplicative decrease, between 1 and `most`; pure."""

    size: float
    most: int

    @property
    def calls(self) -> int:
        """How many calls may run at once."""
        return int(self.size)

    def grown(self) -> "Window":
        """After one call that went well: a window full of them adds one."""
        return attrs.evolve(self, size=min(float(self.most), self.size + 1 / self.size))

    def shrunk(self) -> "Window":
        """After a refusal."""
        return attrs.evolve(self, size=max(1.0, self.size / 2))

    def resized(self, most: int) -> "Window":
        """With another bound: one that was never reached by a refusal stays fully open."""
        size = most if self.size >= self.most else min(self.size, most)
        return Window(max(1.0, float(size)), most)


@attrs.define(eq=False)
class Gate:
    """Admits calls by the window; `lowest` is the least that it has been.

    `watchers` are called whenever another number of calls is admitted.
    """

    window: Window
    lowest: int = attrs.field(init=False)
    watchers: list[Callable[[], None]] = attrs.field(init=False, factory=list)
    _limiter: trio.CapacityLimiter = attrs.field(init=False)
    _round: int = attrs.field(init=False, default=0)

    def __attrs_post_init__(self) -> None:
        self.lowest = self.window.calls
        self._limiter = trio.CapacityLimiter(self.window.calls)

    def resize(self, most: int) -> None:
        """Set the upper bound."""
        self._set(self.window.resized(max(1, most)))

    @asynccontextmanager
    async def admitted(self) -> AsyncIterator[None]:
        """Wait for room, and learn from how the call inside ends."""
        async with self._limiter:
            began = self._round
            try:
                yield
            except RateLimited:
                self._refused(began)
                raise
            self._set(self.window.grown())

    def _refused(self, began: int) -> None:
        # All that were under way when one was refused are one refusal.
        if began != self._round:
            return
        self._round += 1
        shrunk = self.window.shrunk()
        self.lowest = min(self.lowest, shrunk.calls)
        self._set(shrunk)

    def _set(self, window: Window) -> None:
        self.window = window
        if self._limiter.total_tokens != window.calls:
            self._limiter.total_tokens = window.calls
            for watcher in self.watchers:
                watcher()
