"""Stdout and stderr out of one stream: the frames of the Engine API, cut anywhere. Pure."""

from collections.abc import Callable, Mapping

import attrs

_HEADER = 8
STDOUT, STDERR = 1, 2


@attrs.define(eq=False)
class Frames:
    """Feeds what comes to the sink of its stream; nothing is kept but a header that is cut.

    A frame is the stream's number, three zeros, the length as 4 bytes big-endian, and the data
    (Engine API, "Attach to a container", stream format).
    """

    sinks: Mapping[int, Callable[[bytes], None]]
    _header: bytearray = attrs.field(factory=bytearray, init=False)
    _stream: int = attrs.field(default=0, init=False)
    _left: int = attrs.field(default=0, init=False)

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the connection."""
        rest = memoryview(data)
        while rest:
            rest = self._data(rest) if self._left else self._head(rest)

    def _head(self, rest: memoryview) -> memoryview:
        need = _HEADER - len(self._header)
        self._header += rest[:need]
        if len(self._header) == _HEADER:
            self._stream, self._left = self._header[0], int.from_bytes(self._header[4:])
            self._header.clear()
        return rest[need:]

    def _data(self, rest: memoryview) -> memoryview:
        piece = rest[: self._left]
        self._left -= len(piece)
        if self._stream in self.sinks:
            self.sinks[self._stream](bytes(piece))
        return rest[len(piece) :]
