"""The latest events of one run, for readers at their own pace: what they miss is counted."""

from collections import deque
from collections.abc import AsyncIterator

import attrs
import trio

from agentcompass.progress.tracker import Tracker
from agentcompass.records.progress import EventsDropped, ProgressEvent
from agentcompass.records.request import RunRequest


@attrs.define(eq=False, kw_only=True)
class EventHistory:
    """Holds the last `size` events, however many readers there are and wherever they stand.

    `latest` folds every event, `forgotten` those that are not held any more.
    """

    size: int
    latest: Tracker
    forgotten: Tracker
    is_over: bool = attrs.field(default=False, init=False)
    _held: deque[ProgressEvent] = attrs.field(factory=deque, init=False)
    _begin: int = attrs.field(default=0, init=False)
    _readers: trio.lowlevel.ParkingLot = attrs.field(factory=trio.lowlevel.ParkingLot, init=False)

    @property
    def begin(self) -> int:
        """The number, from 0, of the first event that is held."""
        return self._begin

    @property
    def end(self) -> int:
        """The number that the next event will have."""
        return self._begin + len(self._held)

    def emit(self, event: ProgressEvent) -> None:
        """Take an event; it waits for no reader."""
        self.latest.run_id = self.forgotten.run_id = event.run_id
        self.latest.apply(event)
        self._held.append(event)
        if len(self._held) > self.size:
            self.forgotten.apply(self._held.popleft())
            self._begin += 1
        self._readers.unpark_all()

    def close(self) -> None:
        """Say that no event follows."""
        self.is_over = True
        self._readers.unpark_all()

    def at(self, number: int) -> ProgressEvent:
        """One of the events that are held."""
        return self._held[number - self._begin]

    async def news(self) -> None:
        """Wait for the next event, or for the end."""
        await self._readers.park()


@attrs.define(eq=False)
class EventStream(AsyncIterator[ProgressEvent | EventsDropped]):
    """Reads a history from its begin to the end of the run.

    A reader that is too late is given an `EventsDropped` for what it missed, and then the events
    that are held; `dropped` is how many it missed so far.
    """

    _history: EventHistory
    _next: int = attrs.field(default=0, init=False)
    dropped: int = attrs.field(default=0, init=False)

    def __aiter__(self) -> "EventStream":
        return self

    async def __anext__(self) -> ProgressEvent | EventsDropped:
        history = self._history
        await trio.lowlevel.checkpoint()
        while self._next == history.end:
            if history.is_over:
                raise StopAsyncIteration
            await history.news()
        if self._next < history.begin:
            return self._skip()
        self._next += 1
        return history.at(self._next - 1)

    def _skip(self) -> EventsDropped:
        missed = self._history.begin - self._next
        self._next += missed
        self.dropped += missed
        return EventsDropped(dropped=missed, snapshot=self._history.forgotten.snapshot())


def new_history(size: int, request: RunRequest) -> EventHistory:
    """An empty one of a run of `request`, whose id the first event tells."""
    parts = (request.benchmark, request.harness, request.environment, request.model)
    names = [part.id for part in parts]
    return EventHistory(size=size, latest=Tracker("", *names), forgotten=Tracker("", *names))
