"""What a command printed, in bounded memory: its head and its tail, cut between characters."""

import codecs

import attrs

# What the note of a cut may take of the limit; a limit too small to spare it gets no note.
_NOTE_BYTES = 64
_WORTH_A_NOTE = 4 * _NOTE_BYTES


@attrs.define(eq=False)
class OutputBuffer:
    """One stream, kept up to `limit` bytes: all of it, or the first and the last half.

    Memory stays below twice the limit, however much is added.
    """

    limit: int
    total: int = 0
    _head: bytearray = attrs.field(factory=bytearray, init=False)
    _tail: bytearray = attrs.field(factory=bytearray, init=False)

    def add(self, data: bytes) -> None:
        """Take the next bytes of the stream, cut anywhere."""
        self.total += len(data)
        room = self.limit // 2 - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        keep = self.limit - self.limit // 2
        if len(self._tail) > 2 * keep:
            del self._tail[: len(self._tail) - keep]

    def text(self) -> tuple[str, int]:
        """The text, and how many bytes were left out of its middle, where a note says so.

        Decoded as UTF-8 with U+FFFD for what is not; no cut falls inside a character. What is
        kept, note included, is never longer than the limit.
        """
        if self.total <= self.limit:
            return (self._head + self._tail).decode(errors="replace"), 0
        room = _NOTE_BYTES if self.limit >= _WORTH_A_NOTE else 0
        keep = self.limit - self.limit // 2 - room
        head = _without_broken_end(bytes(self._head))
        tail = _without_broken_start(bytes(self._tail[len(self._tail) - keep :]))
        left_out = self.total - len(head) - len(tail)
        note = f"\n[... {left_out} bytes left out here ...]\n" if room else ""
        return head.decode(errors="replace") + note + tail.decode(errors="replace"), left_out


def _without_broken_end(data: bytes) -> bytes:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(data[-4:])
    incomplete, _ = decoder.getstate()
    return data[: len(data) - len(incomplete)]


def _without_broken_start(data: bytes) -> bytes:
    starts = (index for index, byte in enumerate(data[:3]) if byte & 0xC0 != 0x80)
    return data[next(starts, 3) :]
