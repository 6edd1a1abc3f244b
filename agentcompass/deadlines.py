"""Seconds become cancel scopes here: deadlines that name their stretch, and bounded cleanup."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import attrs
import trio

from agentcompass.errors import ExecutionError, PhaseTimeout


@contextmanager
def deadline(
    seconds: float | None, *, stretch: str, error: type[ExecutionError] = PhaseTimeout
) -> Iterator[trio.CancelScope]:
    """Raise `error` once `seconds` have passed inside; None is no deadline, 0 or less has expired.

    Blamed only if this very scope caught the cancellation: an outer deadline or a foreign
    `TimeoutError` passes through untouched.
    """
    with trio.move_on_after(math.inf if seconds is None else max(0.0, seconds)) as scope:
        yield scope
    if scope.cancelled_caught:
        raise error(f"{stretch} timeout: exceeded {seconds:g} s") from None


@attrs.define(eq=False)
class CleanupClock:
    """How long cleanup may take: `grace_seconds`, or one end once the request is cancelled.

    The request calls `cancelled` when its own scope or its caller's is cancelled; from then on
    every cleanup of the request, nested and later ones too, shares the one end.
    """

    grace_seconds: float
    _ends_at: float | None = None

    def cancelled(self) -> None:
        """Fix the end, if it is not fixed yet: `grace_seconds` from now."""
        if self._ends_at is None:
            self._ends_at = trio.current_time() + self.grace_seconds

    def ends_at(self) -> float:
        """The absolute end, on trio's clock in seconds, of a cleanup that begins now."""
        if self._ends_at is not None:
            return self._ends_at
        return trio.current_time() + self.grace_seconds


@contextmanager
def cleanup(clock: CleanupClock) -> Iterator[trio.CancelScope]:
    """Shield what is inside from cancellation until the clock's end; the only shield there is.

    Ask the yielded scope's `cancelled_caught` whether the cleanup was cut off.
    """
    with trio.CancelScope(deadline=clock.ends_at(), shield=True) as scope:
        yield scope
