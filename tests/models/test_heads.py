"""The short way to read an answer is h11's way, or none; what is sent is well-formed."""

from collections.abc import Iterator
from itertools import product

import h11
import httpx
import pytest

from agentcompass.models._body import Counted, Framed
from agentcompass.models._head import Head, usual
from agentcompass.models._target import Origin, Target

USUAL = b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 2\r\n\r\n{}"

STARTS = [b"HTTP/1.1 200 OK", b"HTTP/1.1 200 ", b"HTTP/1.1 200", b"HTTP/1.0 200 OK"]
STARTS += [b"HTTP/1.1  200 OK", b"HTTP/1.1 204 No", b"HTTP/1.1 304 Not", b"HTTP/1.1 500 Oh"]
STARTS += [b"HTTP/1.1 103 Early", b"http/1.1 200 OK", b""]
LENGTHS = [b"2", b"0", b"02", b"2, 2", b"-2", b"+2", b"", b"x", b"7", b"1" * 19, b"1" * 25, b"\xb2"]
FIELDS = [b"Connection: Keep-Alive", b"Connection: close", b"Connection:", b"Upgrade: x"]
FIELDS += [b"Transfer-Encoding: chunked", b"Transfer-Encoding: keep-alive", b"content-length:2"]
FIELDS += [b"Content-Length: 3", b"none", b"", b": a", b"X : a", b"X(: a", b"X\x80: a", b"X:\ta\t"]
FIELDS += [b" folded"]
BODIES = [b"", b"{", b"{}", b"{}{}"]
BYTES = [bytes([code]) for code in b"\0\t\n\x0b\x0c\r\x1f :a\x7f\x85\xa0"]


def answers() -> Iterator[bytes]:
    """An ordinary answer in all ways of these, most of them odd, and with any byte put anywhere."""
    for start, length, field, body in product(STARTS, LENGTHS, FIELDS, BODIES):
        lines = [start, b"X-A: a \xff", b"Content-Length: " + length, field, b"", body]
        yield b"\r\n".join(lines)
    for place, byte in product(range(len(USUAL)), BYTES):
        yield USUAL[:place] + byte + USUAL[place:]


async def closed() -> bytes:
    """A server that says no more."""
    return b""


async def all_of(body: Counted | Framed) -> bytes | None:
    """The whole body; None where it broke off."""
    parts = []
    try:
        while (part := await body.data()) is not None:
            parts.append(part)
    except httpx.ReadError:
        return None
    return b"".join(parts)


async def by_h11(received: bytes) -> tuple[Head, bytes | None, bool] | None:
    """The same by h11 alone; None where it refuses."""
    body = Framed(closed)
    try:
        head = await body.head(received)
    except httpx.HTTPError:
        return None
    data = await all_of(body)
    return head, data, body.complete


async def test_the_short_way_says_what_h11_says():
    short = 0
    for received in answers():
        if (begun := usual(received)) is not None:
            short += 1
            counted = Counted.of(begun, closed)
            said = (begun.head, await all_of(counted), counted.complete)
            assert await by_h11(received) == said, received

    assert short > 200


async def test_the_usual_answer_goes_the_short_way():
    begun = usual(USUAL)

    assert begun is not None
    assert (begun.head.status, begun.size, begun.came) == (200, 2, b"{}")
    assert await by_h11(USUAL) == (begun.head, b"{}", True)


@pytest.mark.parametrize(
    "other",
    [
        USUAL.replace(b"200", b"404"),
        USUAL.replace(b"1.1", b"1.0"),
        USUAL.replace(b"Content-Length: 2", b"Connection: close\r\nContent-Length: 2"),
        USUAL.replace(b"Content-Length: 2", b"Transfer-Encoding: chunked"),
        USUAL.replace(b"Content-Length: 2", b"Content-Length: 2\r\nContent-Length: 3"),
        USUAL[:20],
        b"",
    ],
)
def test_any_other_is_left_to_h11(other: bytes):
    assert usual(other) is None


def test_a_field_that_stands_twice_is_one_text():
    head = Head(200, [(b"x", b"a"), (b"y", b"b"), (b"x", "\u00fc".encode())])

    assert head.get(b"x") == "a, \u00fc"
    assert head.get(b"z") is None


def test_a_request_is_the_head_of_its_target_and_its_body():
    target = Target.of(httpx.URL("https://Host/v1/chat?a=b c"), {"Authorization": "Bearer key"})

    assert target.origin == Origin("https", "host", 443)
    assert target.request(b"{}") == (
        b"POST /v1/chat?a=b%20c HTTP/1.1\r\nHost: host\r\nAuthorization: Bearer key\r\n"
        b"Content-Length: 2\r\n\r\n{}"
    )
    assert "key" not in repr(target)


def test_a_header_cannot_bring_another_one_along():
    with pytest.raises(h11.LocalProtocolError, match="Illegal header value"):
        Target.of(httpx.URL("http://host/"), {"X": "a\r\nY: b"})
