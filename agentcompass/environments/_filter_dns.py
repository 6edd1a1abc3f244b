"""The few words of DNS (RFC 1035) that a filtering resolver needs: read, ask anew, answer. Pure.

Runs in the helper container of environment docker, which has the standard library alone.
"""

import socket
import struct
from collections.abc import Sequence
from typing import NamedTuple

from agentcompass.environments._filter_hello import Refused, host_name

NO_ERROR, FAILED, NO_SUCH_NAME = 0, 2, 3
A = 1

_IN = 1
_TTL_SECONDS = 30
_HEAD = struct.Struct("!6H")
_RECORD = struct.Struct("!HHIH")
_POINTER = 0xC0
_RESPONSE, _OPCODE, _WANTED, _AVAILABLE, _CODE = 0x8000, 0x7800, 0x0100, 0x0080, 0x000F
_MOST_ADDRESSES = 14  # an answer never has more than 512 bytes


class Question(NamedTuple):
    """What is asked: `packed` is the question as it stands in a message."""

    number: int
    name: str
    kind: int
    packed: bytes


def read_question(message: bytes) -> Question:
    """The one question of a query; raises `Refused` for any other message."""
    try:
        number, flags, questions, *_ = _HEAD.unpack_from(message)
        labels, at = [], _HEAD.size
        while length := message[at]:
            if length >= _POINTER:
                raise Refused("a name that points elsewhere")
            labels.append(message[at + 1 : at + 1 + length].decode("ascii", "replace"))
            at += 1 + length
        kind, family = struct.unpack_from("!HH", message, at + 1)
    except (struct.error, IndexError) as error:
        raise Refused("no message of DNS") from error
    if flags & (_RESPONSE | _OPCODE) or questions != 1 or family != _IN:
        raise Refused("no plain question")
    if any("." in label for label in labels):
        raise Refused("a label with a dot in it")
    return Question(number, host_name(".".join(labels)), kind, message[_HEAD.size : at + 5])


def query(number: int, name: str) -> bytes:
    """A question for the addresses of a name, with nothing in it that a client chose but that."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return _HEAD.pack(number, _WANTED, 1, 0, 0, 0) + labels + struct.pack("!BHH", 0, A, _IN)


def answer(question: Question, code: int, addresses: Sequence[str]) -> bytes:
    """The message that answers a question."""
    given = addresses[:_MOST_ADDRESSES]
    records = b"".join(
        struct.pack("!H", _POINTER << 8 | _HEAD.size)
        + _RECORD.pack(A, _IN, _TTL_SECONDS, 4)
        + socket.inet_aton(address)
        for address in given
    )
    flags = _RESPONSE | _WANTED | _AVAILABLE | code
    return _HEAD.pack(question.number, flags, 1, len(given), 0, 0) + question.packed + records


def read_answer(message: bytes, asked: bytes) -> tuple[int, list[str]] | None:
    """The code and addresses of an answer to the query `asked`; None where it is none to it."""
    packed = asked[_HEAD.size :]
    try:
        number, flags, _, answers, *_ = _HEAD.unpack_from(message)
        at = _HEAD.size + len(packed)
        is_ours = number == int.from_bytes(asked[:2], "big") and flags & _RESPONSE
        if not is_ours or message[_HEAD.size : at].lower() != packed:
            return None
        addresses = []
        for _ in range(answers):
            at = _after_name(message, at)
            kind, _, _, length = _RECORD.unpack_from(message, at)
            at += _RECORD.size
            if kind == A and length == 4:
                addresses.append(socket.inet_ntoa(message[at : at + 4]))
            at += length
    except (struct.error, IndexError, OSError):
        return None
    return flags & _CODE, addresses


def _after_name(message: bytes, at: int) -> int:
    while length := message[at]:
        if length >= _POINTER:
            return at + 2
        at += 1 + length
    return at + 1
