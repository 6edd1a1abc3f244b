"""One thread that writes to the terminal, so that a terminal which stalls stalls nothing else."""

import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress

_BACKLOG = 10_000  # jobs; what a stalled terminal cannot take beyond them is dropped


class Writer:
    """Runs jobs in order, and `tick` at most every `pause_seconds` as long as the stream lasts."""

    def __init__(
        self, tick: Callable[[], None] | None = None, *, pause_seconds: float = 0.125
    ) -> None:
        self._tick = tick
        self._pause_seconds = pause_seconds
        self._jobs: queue.Queue[Callable[[], None] | None] = queue.Queue(_BACKLOG)
        self._broken = False
        self._thread = threading.Thread(target=self._work, name="terminal", daemon=True)
        self._thread.start()

    def put(self, job: Callable[[], None]) -> None:
        """Have a job done soon; never blocks, never raises."""
        with suppress(queue.Full):
            self._jobs.put_nowait(job)

    def close(self, timeout_seconds: float = 2.0) -> None:
        """Finish the jobs; give a terminal that stalls no more than the timeout."""
        ends_at = time.monotonic() + timeout_seconds
        with suppress(queue.Full):
            self._jobs.put(None, timeout=timeout_seconds)
        self._thread.join(max(0.0, ends_at - time.monotonic()))

    def _work(self) -> None:
        ticked_at = 0.0
        while True:
            try:
                job = self._jobs.get(timeout=self._pause_seconds if self._tick else None)
            except queue.Empty:
                job = _nothing
            if job is None:
                return
            self._do(job)
            if self._tick and time.monotonic() - ticked_at >= self._pause_seconds:
                self._do(self._tick)
                ticked_at = time.monotonic()

    def _do(self, job: Callable[[], None]) -> None:
        if self._broken:
            return
        try:
            job()
        except (OSError, ValueError):  # the reader is gone, or the stream is closed
            self._broken = True


def _nothing() -> None:
    """The job of a moment in which there is none."""
