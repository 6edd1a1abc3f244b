"""progress.jsonl: one event a line, only ever appended to."""

import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import attrs

from agentcompass.errors import StoreError
from agentcompass.records.convert import structure_record
from agentcompass.records.progress import ProgressEvent
from agentcompass.store.atomic import Disk
from agentcompass.store.encode import NotPlain, decode, dump, plain
from agentcompass.store.redact import Redactor

_BLOCK = 1 << 16

log = logging.getLogger(__name__)


@attrs.define(eq=False, kw_only=True)
class EventFile:
    """Appends events; made with the first of them. Every method blocks.

    `lost` counts the events that could not be written.
    """

    path: Path
    redactor: Redactor
    disk: Disk
    lost: int = attrs.field(default=0, init=False)
    _file: int | None = attrs.field(default=None, init=False)
    _warned: bool = attrs.field(default=False, init=False)
    # By the name of the event: the tasks of a run share most of their plans.
    _latest: dict[str, tuple[Mapping[str, Any], Any]] = attrs.field(factory=dict, init=False)

    def append(self, events: Sequence[ProgressEvent]) -> None:
        """Write events in order and make them durable; what fails is counted, and never raises."""
        lines = bytearray()
        for event in events:  # one at a time: many texts at once leave each thread a larger heap
            lines += self._line(event)
        try:
            if self._file is None:
                self._file = open_for_append(self.path, self.disk)
            self.disk.write(self._file, lines)
            self.disk.sync(self._file)
        except OSError as error:
            self._let_go()  # opening it again cuts off half a line, which would spoil the next one
            self.lost += len(events)
            self.warn(f"{self.path}: {error.strerror or error}")

    def warn(self, fault: str) -> None:
        """Say once that progress cannot be written; the run goes on."""
        if not self._warned:
            self._warned = True
            log.warning("progress is not written, the run goes on: %s", fault)

    def close(self) -> None:
        """Close the file, and say how much may be missing in it."""
        self._let_go()
        if self.lost:
            log.warning("%s lacks up to %d events: they could not be written", self.path, self.lost)

    def _let_go(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _line(self, event: ProgressEvent) -> bytes:
        record = dict(zip(_FIELDS, _values(event), strict=True))
        try:  # the other fields are the engine's own
            record["category"] = _plain_field("category", event.category)
            record["payload"] = self._payload(event) if event.payload else {}
        except NotPlain as fault:
            log.warning("a %s event cannot be written in full: %s", event.event, fault)
            record = {name: _scalar(value) for name, value in record.items()}
            record["payload"] = self.redactor.record({"unwritable": str(fault)})
        return dump(record, indent=False)

    def _payload(self, event: ProgressEvent) -> Any:
        given, masked = self._latest.get(event.event, (None, None))
        if given is not event.payload:
            masked = self.redactor.record(_plain_field("payload", event.payload))
            self._latest[event.event] = event.payload, masked
        return masked


def _plain_field(name: str, value: Any) -> Any:
    try:
        return plain(value, depth=1)
    except NotPlain as fault:
        raise fault.below(name) from None


def _scalar(value: Any) -> Any:
    return value if isinstance(value, str | int | float) else None


_FIELDS = tuple(field.name for field in attrs.fields(ProgressEvent))
_values = attrgetter(*_FIELDS)


def open_for_append(path: Path, disk: Disk) -> int:
    """The file descriptor of `path`, ready for a fresh line; blocking.

    What a crash left of a last line is cut off; a whole one that lacks its line end is given it.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    try:
        size = os.fstat(file).st_size
        begin = _begin_of_last_line(file, size)
        tail = os.pread(file, size - begin, begin)
        if tail and _event(tail) is not None:
            disk.write(file, b"\n")
        elif tail:
            disk.truncate(file, begin)
    except OSError:
        os.close(file)
        raise
    return file


def _begin_of_last_line(file: int, size: int) -> int:
    end = size
    while end > 0:
        begin = max(0, end - _BLOCK)
        found = os.pread(file, end - begin, begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0


def read_events(path: Path) -> Iterator[ProgressEvent]:
    """Every event of a progress.jsonl, in order; blocking.

    Only a last line that was never finished is passed over: any other fault raises
    `RecordCorrupt` with its line. Raises `StoreError` where the file cannot be read.
    """
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.endswith(b"\n") and _event(line) is None:
                    return
                source = f"{path}, line {number}"
                yield structure_record(decode(line, source=source), ProgressEvent, source=source)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error


def _event(line: bytes) -> Any:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
