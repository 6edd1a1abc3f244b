"""The events of a run that may still be writing them: each once, whatever else is in the file."""

from collections.abc import Iterator
from pathlib import Path

import attrs
import orjson

from agentcompass.errors import RecordCorrupt
from agentcompass.records.convert import structure_record
from agentcompass.records.progress import ProgressEvent
from agentcompass.store.atomic import named_errors
from agentcompass.store.encode import decode


@attrs.define(eq=False)
class EventTail:
    """Reads on where it stopped; `unreadable` counts the lines that are no event."""

    path: Path
    unreadable: int = attrs.field(default=0, init=False)
    _offset: int = attrs.field(default=0, init=False)

    def read(self) -> Iterator[ProgressEvent]:
        """The events that are new, one after the other; blocking.

        A last line that is not finished is left for the next time. Raises `StoreError` where the
        file cannot be read; one that does not exist has no events yet.
        """
        with named_errors(self.path):
            if not self.path.exists():
                return
            with self.path.open("rb") as lines:
                lines.seek(self._offset)
                for line in lines:
                    event = self._event(line)
                    if event is None and not line.endswith(b"\n"):
                        return
                    self._offset += len(line)
                    if event is not None:
                        yield event
                    elif line.strip():
                        self.unreadable += 1

    def _event(self, line: bytes) -> ProgressEvent | None:
        try:
            return structure_record(_decoded(line), ProgressEvent, source="")
        except RecordCorrupt:
            return None


def _decoded(line: bytes) -> object:
    try:
        return orjson.loads(line)  # ten times as fast, which counts in a run of 10,000 tasks
    except orjson.JSONDecodeError:
        return decode(line, source="")  # which also reads lone surrogates
