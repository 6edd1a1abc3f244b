"""SIGINT and SIGTERM during a run: cancel and clean up, say so, and end at once at the third."""

import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NoReturn

import attrs
import trio

Say = Callable[[str], None]


@attrs.define
class Signalled:
    """What has arrived: the first signal names the exit code."""

    first: signal.Signals | None = None
    count: int = 0

    @property
    def exit_code(self) -> int:
        """130 for SIGINT, 143 for SIGTERM."""
        return 128 + (self.first or signal.SIGINT)


async def run_under_signals(
    work: Callable[[], Awaitable[None]],
    *,
    grace_seconds: float,
    say: Say,
    last_words: Callable[[], str],
) -> Signalled:
    """Run `work`, cancelled by the first signal; the third ends the process with `last_words`."""
    signalled = Signalled()
    async with trio.open_nursery() as nursery:
        with trio.CancelScope() as scope:
            watch = _Watch(signalled, scope, grace_seconds, say, last_words)
            await nursery.start(watch.run)
            await work()
        nursery.cancel_scope.cancel()
    return signalled


@attrs.define
class _Watch:
    signalled: Signalled
    scope: trio.CancelScope
    grace_seconds: float
    say: Say
    last_words: Callable[[], str]

    async def run(self, task_status: trio.TaskStatus[None]) -> None:
        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as received:
            task_status.started()
            async for number in received:
                self._take(signal.Signals(number))

    def _take(self, received: signal.Signals) -> None:
        self.signalled.count += 1
        if self.signalled.count == 1:
            self.signalled.first = received
            self.scope.cancel()
            grace = f"{self.grace_seconds:g} s"
            self.say(f"{received.name}: cancelling, cleaning up for at most {grace}")
        elif self.signalled.count == 2:
            self.say("still cleaning up; a third signal ends at once and may leave sandboxes")
        else:
            _end_at_once(self.last_words(), self.signalled.exit_code)


def _end_at_once(words: str, code: int) -> NoReturn:
    """Leave without any further step: nothing may keep the user waiting now."""
    show_cursor = "\x1b[?25h" if sys.stderr is not None and sys.stderr.isatty() else ""
    with suppress(OSError):
        os.write(2, f"{show_cursor}\n{words}\n".encode(errors="backslashreplace"))
    os._exit(code)
