"""What the first bytes of a connection ask for, and what is refused for asking otherwise."""

import ssl
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcompass.environments._filter_hello import ANY_SIZE, Asked, Refused, asked_for, host_name


def hello(name: str | None) -> bytes:
    """What OpenSSL says first."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    said = ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), said, server_hostname=name).do_handshake()
    return said.read()


def record(data: bytes) -> bytes:
    return b"\x16\3\1" + len(data).to_bytes(2) + data


def with_extension(data: bytes, kind: int, body: bytes) -> bytes:
    """A ClientHello of one record with one more extension, all lengths put right."""
    message = data[9:]
    at = 2 + 32
    for size in (1, 2, 1):
        at += size + int.from_bytes(message[at : at + size])
    old = message[at + 2 :]
    extensions = old + kind.to_bytes(2) + len(body).to_bytes(2) + body
    message = message[:at] + len(extensions).to_bytes(2) + extensions
    return record(b"\1" + len(message).to_bytes(3) + message)


SERVER_NAME = b"\0\x0b\0\0\x08evil.com"


def request(*lines: str, body: str = "") -> bytes:
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


def test_tls_is_for_its_server_name_and_goes_on_unchanged():
    said = hello("API.example.org")

    assert asked_for(said) == Asked("api.example.org", said, ANY_SIZE)
    assert asked_for(said + b"\x17early") == Asked("api.example.org", said + b"\x17early", ANY_SIZE)


@given(st.integers(min_value=1, max_value=300))
@settings(deadline=None)
def test_a_hello_may_come_in_as_many_records_and_pieces_as_it_likes(size):
    """Broken by: taking the first record for the message."""
    message = hello("api.example.org")[5:]
    said = b"".join(record(message[at : at + size]) for at in range(0, len(message), size))

    assert asked_for(said) == Asked("api.example.org", said, ANY_SIZE)
    assert asked_for(said[:-1]) is None


@pytest.mark.parametrize(
    "said",
    [
        hello(None),
        with_extension(hello("api.example.org"), 0, SERVER_NAME),
        with_extension(hello(None), 0, b"\0\x16" + 2 * SERVER_NAME[2:]),
        with_extension(hello(None), 0, b"\0\x0b\1" + SERVER_NAME[3:]),
        with_extension(hello("api.example.org"), 0xFE0D, b"\0" * 20),
        with_extension(hello("api.example.org"), 0xFFCE, b"\0" * 20),
        record(hello("api.example.org")[5:] + b"\1"),
        b"\x16\3\1\0\4\2\0\0\0",
        b"\x16\3\1\0\0",
        b"\x16HELO",
    ],
    ids=["none", "two", "listed twice", "other kind", "ech", "esni", "more", "server", "0", "raw"],
)
def test_tls_that_hides_or_doubles_its_name_is_refused(said):
    with pytest.raises(Refused):
        asked_for(said)


def test_the_names_that_the_odd_ones_are_made_from_would_pass():
    assert asked_for(with_extension(hello(None), 0, SERVER_NAME)).name == "evil.com"
    assert asked_for(with_extension(hello("a.org"), 0xFFFF, b"")).name == "a.org"


def test_http_is_for_its_host_and_asks_for_one_answer():
    said = request(
        "POST /x HTTP/1.1",
        "Host: API.example.org:8080",
        "connection: keep-alive",
        "Upgrade: h2c",
        "X: 1",
        "Content-Length: 6",
        body="12",
    )

    assert asked_for(said) == Asked(
        "api.example.org",
        request(
            "POST /x HTTP/1.1",
            "Host: API.example.org:8080",
            "X: 1",
            "Content-Length: 6",
            "Connection: close",
            body="12",
        ),
        4,
    )
    assert asked_for(said[:60]) is None


def test_what_follows_a_request_is_not_sent_on():
    said = request("GET / HTTP/1.1", "Host: a.org", body="GET / HTTP/1.1")

    assert asked_for(said) == Asked(
        "a.org", request("GET / HTTP/1.1", "Host: a.org", "Connection: close"), 0
    )


def test_an_absolute_target_counts_where_it_is_the_host():
    assert asked_for(request("GET http://A.org/x HTTP/1.1", "Host: a.org")).name == "a.org"


@pytest.mark.parametrize(
    "lines",
    [
        ["GET / HTTP/1.1"],
        ["GET / HTTP/1.1", "Host: a.org", "Host: a.org"],
        ["GET / HTTP/1.1", "Host : a.org"],
        ["GET / HTTP/1.1", "Host: a.org", " b.org"],
        ["GET / HTTP/1.1", "Host: a.org\nHost: b.org"],
        ["GET / HTTP/1.1", "Host: a@b.org"],
        ["GET / HTTP/1.1", "Host: a.org b.org"],
        ["GET / HTTP/1.1", "Host: [::1]"],
        ["GET http://b.org/ HTTP/1.1", "Host: a.org"],
        ["GET http://a.org@b.org/ HTTP/1.1", "Host: a.org"],
        ["GET b.org HTTP/1.1", "Host: a.org"],
        ["CONNECT a.org:443 HTTP/1.1", "Host: a.org"],
        ["POST / HTTP/1.1", "Host: a.org", "Transfer-Encoding: chunked"],
        ["POST / HTTP/1.1", "Host: a.org", "Content-Length: 1", "Content-Length: 2"],
        ["POST / HTTP/1.1", "Host: a.org", "Content-Length: -1"],
        ["PRI * HTTP/2.0"],
        ["EHLO a.org"],
    ],
)
def test_http_that_is_for_nobody_or_for_two_is_refused(lines):
    with pytest.raises(Refused):
        asked_for(request(*lines))


@given(st.binary(max_size=200), st.booleans())
@settings(deadline=None)
def test_any_bytes_are_refused_or_asked_more_of_or_for_a_host(data, after_hello):
    """Broken by: reading a length past the end."""
    message = b"\1" + len(data).to_bytes(3) + data
    try:
        found = asked_for(record(message) if after_hello else data)
    except Refused:
        return
    assert found is None or host_name(found.name) == found.name


@pytest.mark.parametrize("text", ["", ".", "a..b", "a/b", "a b", "ä.org", "a.org..", "x" * 64])
def test_what_is_no_host_name_is_refused(text):
    with pytest.raises(Refused):
        host_name(text)
