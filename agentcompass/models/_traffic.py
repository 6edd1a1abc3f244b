"""What the calls of one run meet at their endpoint, told to who listens: seldom, but all of it."""

import logging
from collections.abc import Callable

import attrs
import trio

from agentcompass.models._adaptive import Gate
from agentcompass.records.model import EndpointTraffic

_PAUSE = 1.0  # seconds; a storm of refusals is told in counts
# The `extra` of a log record that a display tells in its own way.
FILE_ONLY = {"file_only": True}

log = logging.getLogger(__name__)

Tell = Callable[[EndpointTraffic], None]


@attrs.define(eq=False, kw_only=True)
class Traffic:
    """Counts waits, and tells them together with what a gate admits, None being no gate.

    A changed limit is told at once; waits at most once a second, and what is left at the end.
    """

    endpoint: str
    gate: Gate | None
    tell: Tell | None = None
    waits: int = 0
    seconds_waited: float = 0.0
    _told: EndpointTraffic | None = None
    _told_at: float = float("-inf")

    @property
    def state(self) -> EndpointTraffic:
        """How it stands now."""
        gate = self.gate
        return EndpointTraffic(
            endpoint=self.endpoint,
            calls_at_once=None if gate is None else gate.window.calls,
            most_at_once=None if gate is None else gate.window.most,
            waits=self.waits,
            seconds_waited=round(self.seconds_waited, 3),
        )

    def begin(self) -> None:
        """Follow the gate."""
        if self.gate is not None:
            self.gate.watchers.append(self.say)

    def end(self) -> None:
        """Tell what has not been told, and no more."""
        if self.gate is not None:
            self.gate.watchers.remove(self.say)
        if self.waits and self.state != self._told:
            self.say()
        if (state := self._told) is not None:
            calls = f"; {state.calls_at_once} of {state.most_at_once} calls at once"
            text = f"{state.waits} waits, {state.seconds_waited:.1f} s{calls if self.gate else ''}"
            log.info("model at %s: in the end %s", state.endpoint, text, extra=FILE_ONLY)

    def waiting(self) -> None:
        """Count a call that waits for room from now on."""
        self.waits += 1
        if trio.current_time() - self._told_at >= _PAUSE:
            self.say()

    def say(self) -> None:
        """Tell how it stands now."""
        self._told, self._told_at = self.state, trio.current_time()
        if self.tell is not None:
            self.tell(self._told)
