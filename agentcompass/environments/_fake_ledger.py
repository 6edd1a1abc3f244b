"""What became of the sessions of one fake environment, for tests to look at."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import attrs
import trio

from agentcompass.environments._fake_script import FakeCommand, FakeScript, Point
from agentcompass.errors import EnvironmentFailed
from agentcompass.protocols import SessionRequest
from agentcompass.records.environment import NetworkPolicy


@attrs.define(eq=False)
class Ledger:
    """Sessions in the order of events. `open_times` are seconds on trio's clock.

    A session is live from the moment its opening is sent until its closing is confirmed, or until
    its opening has failed; `opened` and `closed` hold those that were.
    """

    open_times: list[float] = attrs.field(factory=list)
    opened: list[SessionRequest] = attrs.field(factory=list)
    closed: list[SessionRequest] = attrs.field(factory=list)
    live: list[SessionRequest] = attrs.field(factory=list)
    peak_live: int = 0
    commands: list[FakeCommand] = attrs.field(factory=list)
    policies: list[tuple[SessionRequest, NetworkPolicy]] = attrs.field(factory=list)
    _failures: Counter[Point] = attrs.field(factory=Counter)

    @contextmanager
    def opening(self, request: SessionRequest) -> Iterator[None]:
        """An opening was sent; what is inside succeeds, fails or is cancelled."""
        self.open_times.append(trio.current_time())
        self.live.append(request)
        self.peak_live = max(self.peak_live, len(self.live))
        is_open = False
        try:
            yield
            is_open = True
        finally:
            if is_open:
                self.opened.append(request)
            else:
                self.live.remove(request)

    def note_closed(self, request: SessionRequest) -> None:
        """The closing of a session is confirmed."""
        self.live.remove(request)
        self.closed.append(request)

    def fail_if_told(self, script: FakeScript, point: Point) -> None:
        """Raise `EnvironmentFailed` where the script says so, and so often."""
        if point not in script.fails:
            return
        self._failures[point] += 1
        if script.fail_times is None or self._failures[point] <= script.fail_times:
            raise EnvironmentFailed(script.fails[point])
