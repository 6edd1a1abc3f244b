"""Which server the first bytes of a connection ask for: TLS's server name or HTTP's Host. Pure.

Runs in the helper container of environment docker, which has the standard library alone.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

# More than any client sends before it is answered.
LIMIT_BYTES = 2**16
ANY_SIZE = 2**62

_HANDSHAKE, _CLIENT_HELLO, _HOST_NAME = 22, 1, 0
_SERVER_NAME = 0
# Encrypted Client Hello and its forerunner: the name that counts could not be read.
_HIDDEN_NAMES = frozenset({0xFE0D, 0xFFCE})
_LABEL = r"[a-z0-9_-]{1,63}"
_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_REQUEST = re.compile(rb"([A-Z]+) (\S+) HTTP/1\.[01]")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*?)[ \t]*")
_AUTHORITY = re.compile(rb"([^:@\[\]]+)(:[0-9]+)?")
_SIZE = re.compile(rb"[0-9]{1,18}")
# What asks for more than one request over a connection, or for another protocol on it.
_OF_CONNECTION = frozenset({b"connection", b"keep-alive", b"proxy-connection", b"upgrade"})


class Asked(NamedTuple):
    """Who is asked for, what to send there first, and how many bytes of the client may follow."""

    name: str
    first: bytes
    rest: int


class Refused(Exception):
    """The bytes ask for nobody, for two, or in a way that cannot be checked."""


def host_name(text: str) -> str:
    """A host name as it is compared; raises `Refused` for what is none."""
    name = text.lower().removesuffix(".")
    if len(name) > 253 or not _NAME.fullmatch(name):
        raise Refused(f"{text!r} is no host name")
    return name


def asked_for(data: bytes) -> Asked | None:
    """What a connection that begins so asks for, or None where more has to be read first.

    Of HTTP one request is sent on, with `Connection: close`: the next may be for another host.
    """
    if not data:
        return None
    if data[0] == _HANDSHAKE:
        hello = _client_hello(data)
        return None if hello is None else Asked(_server_name(hello), data, ANY_SIZE)
    head, end, body = data.partition(b"\r\n\r\n")
    return _http(head, body) if end else None


def _client_hello(data: bytes) -> bytes | None:
    """The message (RFC 8446, 4.1.2), put together from as many records as it takes."""
    hello = b""
    while len(data) >= 5:
        length = int.from_bytes(data[3:5], "big")
        if data[0] != _HANDSHAKE or data[1] != 3 or not length:
            raise Refused("no ClientHello")
        if len(data) < 5 + length:
            return None
        hello, data = hello + data[5 : 5 + length], data[5 + length :]
        if hello[0] != _CLIENT_HELLO:
            raise Refused("no ClientHello")
        needed = 4 + int.from_bytes(hello[1:4], "big")
        if len(hello) >= 4 and len(hello) > needed:
            raise Refused("more than a ClientHello")
        if len(hello) >= 4 and len(hello) == needed:
            return hello[4:]
    return None


def _server_name(hello: bytes) -> str:
    fields = _Fields(hello)
    fields.take(2 + 32)
    for size in (1, 2, 1):  # session, cipher suites, compression
        fields.vector(size)
    extensions = _Fields(fields.vector(2))
    fields.end()
    found = []
    while extensions.data:
        kind, body = extensions.number(2), extensions.vector(2)
        if kind in _HIDDEN_NAMES:
            raise Refused("the server name is encrypted")
        if kind == _SERVER_NAME:
            found.append(body)
    if len(found) != 1:
        raise Refused("not one server name")
    listed = _Fields(found[0])
    entries = _Fields(listed.vector(2))
    listed.end()
    if entries.number(1) != _HOST_NAME:
        raise Refused("the server name is no host")
    name = entries.vector(2)
    entries.end()
    return host_name(name.decode("ascii", "replace"))


class _Fields:
    """Reads what TLS has packed; raises `Refused` where it is cut off."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def take(self, length: int) -> bytes:
        if length > len(self.data):
            raise Refused("a ClientHello is cut off")
        taken, self.data = self.data[:length], self.data[length:]
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def vector(self, size: int) -> bytes:
        return self.take(self.number(size))

    def end(self) -> None:
        if self.data:
            raise Refused("a ClientHello is longer than it says")


def _http(head: bytes, body: bytes) -> Asked:
    first, *lines = head.split(b"\r\n")
    request = _REQUEST.fullmatch(first)
    fields = [field for line in lines if (field := _FIELD.fullmatch(line))]
    if request is None or request[1] == b"CONNECT" or len(fields) < len(lines):
        raise Refused("no HTTP request that can be sent on")
    named = [(field[1].lower(), field[2]) for field in fields]
    host = _only(named, b"host", _AUTHORITY)
    if not _is_for(request[2], host[0]):
        raise Refused("the target is not the Host")
    size = _body_size(named)
    kept = [field[0] for field in fields if field[1].lower() not in _OF_CONNECTION]
    sent = b"\r\n".join([first, *kept, b"Connection: close", b"", body[:size]])
    return Asked(host_name(host[1].decode("ascii", "replace")), sent, max(0, size - len(body)))


def _body_size(named: Sequence[tuple[bytes, bytes]]) -> int:
    names = {name for name, _ in named}
    if b"transfer-encoding" in names:
        raise Refused("a body whose end is not said before")
    return int(_only(named, b"content-length", _SIZE)[0]) if b"content-length" in names else 0


def _only(
    named: Sequence[tuple[bytes, bytes]], name: bytes, form: re.Pattern[bytes]
) -> re.Match[bytes]:
    values = [value for known, value in named if known == name]
    found = form.fullmatch(values[0]) if len(values) == 1 else None
    if found is None:
        raise Refused(f"not one {name.decode()}")
    return found


def _is_for(target: bytes, host: bytes) -> bool:
    """Whether the target of a request is a path, or an absolute one of the same host."""
    if target.startswith(b"/") or target == b"*":
        return True
    scheme, _, rest = target.partition(b"://")
    authority = re.split(rb"[/?#]", rest, maxsplit=1)[0]
    return scheme.lower() == b"http" and authority.lower() == host.lower()
