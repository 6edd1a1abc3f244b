"""The two progress files: every event appended to progress.jsonl, the latest state progress.json.

`emit` only remembers. One task writes what has gathered, in the order of emission, while the
others go on; whoever has to know that an event is on disk awaits `flush`, and waits with everybody
else for one write. What cannot be written is counted and warned about; it ends nothing.
"""

import logging
from collections.abc import Sequence
from pathlib import Path

import attrs
import trio

from agentcompass.deadlines import CleanupClock, cleanup
from agentcompass.errors import StoreError
from agentcompass.progress.console import EVERY_LINE
from agentcompass.progress.event_file import EventFile
from agentcompass.progress.tracker import Tracker
from agentcompass.records.progress import ProgressEvent, ProgressSnapshot
from agentcompass.store.atomic import Disk, replace_file
from agentcompass.store.encode import dump, plain
from agentcompass.store.redact import Redactor

# progress.json is replaced at most this often while things move.
PAUSE_SECONDS = 0.25

log = logging.getLogger("agentcompass.progress")


@attrs.define(eq=False, kw_only=True)
class Journal:
    """Writes the events of one run, and the snapshot that `tracker` folds them to."""

    events: EventFile
    snapshot_file: Path
    tracker: Tracker
    redactor: Redactor
    disk: Disk
    limiter: trio.CapacityLimiter
    _began_at: float = attrs.field(factory=trio.current_time, init=False)
    _waiting: list[ProgressEvent] = attrs.field(factory=list, init=False)
    _emitted: int = attrs.field(default=0, init=False)
    _settled: int = attrs.field(default=0, init=False)
    _shown: int = attrs.field(default=0, init=False)
    _writing: trio.Event | None = attrs.field(default=None, init=False)
    _wake: trio.Event = attrs.field(factory=trio.Event, init=False)
    _closing: trio.Event = attrs.field(factory=trio.Event, init=False)

    def emit(self, event: ProgressEvent) -> None:
        """Take an event; it counts at once, and is written and logged soon. Never raises."""
        self.tracker.apply(event, elapsed_seconds=trio.current_time() - self._began_at)
        self._waiting.append(event)
        self._emitted += 1
        self._wake.set()

    async def flush(self) -> None:
        """Return when every event emitted so far is on disk, or could not be written."""
        wanted = self._emitted
        while self._settled < wanted:
            if self._writing is None:
                await self._write_waiting()
            else:
                await self._writing.wait()

    async def run(self, clock: CleanupClock) -> None:
        """Write until `stop`; a cancelled run is written for as long as its cleanup may last."""
        try:
            await self._serve()
        except trio.Cancelled:
            with cleanup(clock):
                await self._serve()
            raise

    def stop(self) -> None:
        """Let `run` come to its end."""
        self._closing.set()
        self._wake.set()

    async def finish(self) -> None:
        """Bring both files up to date and close them."""
        try:
            await self._write_both()
        finally:
            self.events.close()

    async def _serve(self) -> None:
        while not self._closing.is_set():
            await self._wake.wait()
            self._wake = trio.Event()
            await self._write_both()
            with trio.move_on_after(PAUSE_SECONDS):
                await self._closing.wait()

    async def _write_both(self) -> None:
        # Taken before the events are written, so that it is never ahead of them.
        snapshot, taken_at = self.tracker.snapshot(), self._emitted
        await self.flush()
        if taken_at != self._shown:
            self._shown = taken_at
            await trio.to_thread.run_sync(self._replace_snapshot, snapshot, limiter=self.limiter)

    async def _write_waiting(self) -> None:
        batch, self._waiting = self._waiting, []
        done = self._writing = trio.Event()
        try:
            await trio.to_thread.run_sync(self._write, batch, limiter=self.limiter)
        except trio.Cancelled:  # which only strikes before the thread has begun
            self._waiting[:0], batch = batch, []
            raise
        finally:
            self._settled += len(batch)
            self._writing = None
            done.set()

    def _write(self, events: Sequence[ProgressEvent]) -> None:
        if log.isEnabledFor(logging.DEBUG):
            # Here, since a log is a file, and the loop waits for no disk.
            log.debug("%s", "\n".join(map(in_words, events)), extra=EVERY_LINE)
        self.events.append(events)

    def _replace_snapshot(self, snapshot: ProgressSnapshot) -> None:
        record = plain(snapshot)
        for task in record["active_tasks"].values():
            task["details"] = self.redactor.record(task["details"])
        try:
            replace_file(self.disk, self.snapshot_file, dump(record))
        except StoreError as error:
            self.events.warn(str(error))


def in_words(event: ProgressEvent) -> str:
    """An event as one line for people who search the log by task, phase or status."""
    fields = {
        "task": event.task_id,
        "attempt": event.attempt,
        "phase": event.phase,
        "status": event.status,
        **event.payload,
    }
    said = [
        f"{name}={value}"
        for name, value in fields.items()
        if isinstance(value, _WORTH_SAYING) and value != ""
    ]
    return " ".join([event.event, *said])


_WORTH_SAYING = (str, int, float)
