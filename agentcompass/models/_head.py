"""The head of an answer, and the short way to it where it is as nearly all are; pure."""

import re
from collections.abc import Sequence

import attrs

# Nothing in here is read otherwise by h11, which reads every other head.
_USUAL = re.compile(
    rb"HTTP/1\.1 200 [\t -~\x80-\xff]*\r\n"
    rb"((?:[-!#$%&'*+.^_`|~0-9a-zA-Z]+:[\t -~\x80-\xff]*\r\n)+)"
    rb"\r\n"
)
_LONGEST = 18  # digits of a length


@attrs.frozen
class Head:
    """A status, and fields by their names in lower case."""

    status: int
    fields: Sequence[tuple[bytes, bytes]]

    def get(self, name: bytes) -> str | None:
        """The value of a field, all of them where it stands more than once."""
        found = [value for known, value in self.fields if known == name]
        return b", ".join(found).decode("utf-8", "replace") if found else None


@attrs.frozen
class Begun:
    """An answer whose body has `size` bytes, of which some have come, or more than that."""

    head: Head
    size: int
    came: bytes


def usual(received: bytes) -> Begun | None:
    """What an answer begins with; None where it takes h11 to say.

    Usual is a status of 200 and a length that is said, on a connection that stays open.
    """
    match = _USUAL.match(received)
    if match is None:
        return None
    lines = [line.partition(b":") for line in match[1].split(b"\r\n")[:-1]]
    fields = [(name.lower(), value.strip(b" \t")) for name, _, value in lines]
    if any(_is_unusual(name, value) for name, value in fields):
        return None
    sizes = [value for name, value in fields if name == b"content-length"]
    if len(sizes) != 1 or not sizes[0].isdigit() or len(sizes[0]) > _LONGEST:
        return None
    return Begun(Head(200, fields), int(sizes[0]), received[match.end() :])


def _is_unusual(name: bytes, value: bytes) -> bool:
    if name == b"connection":
        return value.lower() != b"keep-alive"
    return name == b"transfer-encoding"
