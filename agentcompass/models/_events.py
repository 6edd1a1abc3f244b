"""Server-sent events, cut out of bytes as they arrive (WHATWG HTML, section 9.2)."""

import re
from collections.abc import Iterator

import attrs

from agentcompass.models._reading import Unusable

_LINE_END = re.compile(rb"\r\n|\n|\r")


@attrs.define(eq=False)
class EventReader:
    """Gives the data of each event once its last byte has come, whatever the pieces are."""

    _rest: bytearray = attrs.field(factory=bytearray)
    _data: list[bytes] = attrs.field(factory=list)

    def feed(self, piece: bytes) -> Iterator[str]:
        """The data of each event that this piece completes."""
        begins = max(0, len(self._rest) - 1)
        self._rest += piece
        if not _LINE_END.search(self._rest, begins):
            return
        lines = _LINE_END.split(self._rest)
        # A CR at the very end may be the first half of a CRLF.
        held = b"\r" if self._rest.endswith(b"\r") else b""
        if held:
            lines.pop()
        self._rest = bytearray(lines.pop() + held)
        for line in lines:
            yield from self._take(bytes(line))

    def close(self) -> Iterator[str]:
        """The data of an event that the stream ended in the middle of, for servers that do so."""
        for line in (bytes(self._rest).rstrip(b"\r"), b""):
            yield from self._take(line)
        self._rest.clear()

    def _take(self, line: bytes) -> Iterator[str]:
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        elif not line and self._data:
            data, self._data = b"\n".join(self._data), []
            yield _text(data)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Unusable("an event of the stream is not UTF-8") from error
