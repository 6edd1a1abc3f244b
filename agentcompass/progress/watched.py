"""A run as others see it, from its files alone: how far it is, and whether it still goes on."""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import attrs

from agentcompass.errors import RecordCorrupt, UsageError
from agentcompass.progress.board import Board
from agentcompass.progress.tail import EventTail
from agentcompass.records.progress import ProgressEvent
from agentcompass.store.atomic import read_record
from agentcompass.store.layout import RunLayout
from agentcompass.store.owner import is_alive

State = Literal["running", "stale", "unknown", "completed", "failed", "timed_out", "cancelled"]
_DEPTHS = ("*", "*/*", "*/*/*")
ENDS = ("completed", "failed", "timed_out", "cancelled")


@attrs.define(eq=False)
class WatchedRun:
    """Reads a run directory again and again; never writes. Every method blocks.

    `fault` is what is wrong with run_info.json, and empty where nothing is. Memory is bounded by
    the tasks that run at a time.
    """

    layout: RunLayout
    board: Board = attrs.field(factory=Board, init=False)
    last: ProgressEvent | None = attrs.field(default=None, init=False)
    alive: bool | None = attrs.field(default=None, init=False)
    fault: str = attrs.field(default="", init=False)
    error: str = attrs.field(default="", init=False)
    _tail: EventTail = attrs.field(init=False)
    _owner: str = attrs.field(default="", init=False)
    _status: str = attrs.field(default="", init=False)
    _seen: tuple[int, int] | None = attrs.field(default=None, init=False)

    @_tail.default
    def _events(self) -> EventTail:
        return EventTail(self.layout.events)

    def read(self) -> Iterator[ProgressEvent]:
        """What is new, event by event; `board` has taken note of each.

        Raises `StoreError` where the events cannot be read.
        """
        self._read_info()
        self.alive = is_alive(self._owner) if self._owner else None
        self._read_info()  # again: a process that is gone has written its end by now, or never will
        for event in self._tail.read():
            self.board.apply(event, event.timestamp)
            self.last = event
            yield event

    @property
    def state(self) -> State:
        """How the run ended; or else whether it goes on, died without an end, or nobody knows."""
        for said in (self._status, self.board.status):
            if said in ENDS:
                return said  # type: ignore[return-value]
        if self.alive is None:
            return "unknown"
        return "running" if self.alive else "stale"

    @property
    def unreadable(self) -> int:
        """How many lines of progress.jsonl are no events."""
        return self._tail.unreadable

    def now(self) -> float:
        """Until when time passes for the run, in Unix seconds: this moment, or its last event."""
        over = self.state != "running" and self.last is not None
        return self.last.timestamp if over and self.last else time.time()

    def _read_info(self) -> None:
        """Take note of run_info.json where it has changed: it may be large, and is often read."""
        path = self.layout.run_info
        try:
            found = path.stat()
        except OSError:
            self.fault = f"there is no {path.name}"
            return
        if self._seen == (found.st_mtime_ns, found.st_ino):
            return
        self._seen = (found.st_mtime_ns, found.st_ino)
        self._note(path)

    def _note(self, path: Path) -> None:
        try:
            record = read_record(path)
        except RecordCorrupt as error:
            self.fault = str(error)
            return
        if not isinstance(record, Mapping):
            self.fault = f"{path}: expected an object"
            return
        self.fault = ""
        self._owner, self._status, self.error = (
            _text(record, name) for name in ("owner", "status", "error")
        )


def watched_run(directory: Path) -> WatchedRun:
    """The run in `directory`; raises `UsageError` where there is none, naming one below it."""
    layout = RunLayout(directory)
    if layout.run_info.exists() or layout.events.exists():
        return WatchedRun(layout)
    if not directory.is_dir():
        raise UsageError(f"{directory}: there is no such folder")
    raise UsageError(
        f"{directory} is not a run directory: it has no {layout.run_info.name}{_below(directory)}"
    )


def _below(directory: Path) -> str:
    newest = max(runs_below(directory), key=changed_at, default=None)
    return "" if newest is None else f"; the latest run in it is {newest.parent}"


def runs_below(directory: Path) -> Iterator[Path]:
    """The run_info.json of each run of a results folder; blocking."""
    for depth in _DEPTHS:
        yield from directory.glob(f"{depth}/run_info.json")


def changed_at(path: Path) -> float:
    """When a file was written last, in Unix seconds; 0 where that cannot be told."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    return value if isinstance(value, str) else ""
