"""Seconds become cancel scopes here: deadlines that name their stretch, and bounded cleanup."""

from contextlib import AbstractContextManager, nullcontext
from types import TracebackType

import attrs
import trio

from agentcompass.errors import ExecutionError, PhaseTimeout

_NO_DEADLINE = nullcontext()


def deadline(
    seconds: float | None, *, stretch: str, error: type[ExecutionError] = PhaseTimeout
) -> AbstractContextManager[None]:
    """Raise `error` once `seconds` have passed inside; None is no deadline, 0 or less has expired.

    Blamed only if this very scope caught the cancellation: an outer deadline or a foreign
    `TimeoutError` passes through untouched.
    """
    return _NO_DEADLINE if seconds is None else _Deadline(seconds, stretch, error)


@attrs.define(eq=False)
class _Deadline:
    """A class, since every task enters several and a generator takes as long as its scope."""

    _seconds: float
    _stretch: str
    _error: type[ExecutionError]
    _scope: trio.CancelScope = attrs.field(init=False)

    def __enter__(self) -> None:
        self._scope = trio.move_on_after(max(0.0, self._seconds))
        self._scope.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._scope.__exit__(kind, error, trace)
        if self._scope.cancelled_caught:
            raise self._error(f"{self._stretch} timeout: exceeded {self._seconds:g} s") from None


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


def cleanup(clock: CleanupClock) -> trio.CancelScope:
    """Shield what is inside from cancellation until the clock's end; the only shield there is.

    Ask the scope's `cancelled_caught` whether the cleanup was cut off.
    """
    return trio.CancelScope(deadline=clock.ends_at(), shield=True)
