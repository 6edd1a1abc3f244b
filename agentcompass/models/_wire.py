"""One HTTP/1.1 exchange after another over one trio stream, framed by h11."""

import select
import ssl
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager

import attrs
import h11
import httpx
import trio

_HEAD_LIMIT = 128 * 1024  # bytes of one answer's head


class Dropped(httpx.RemoteProtocolError):
    """The server closed the connection before the first byte of its answer."""


def reason(error: BaseException) -> str:
    """Why a stream broke, in words: trio keeps the error of the socket or of TLS as the cause."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error) or type(error).__name__


@contextmanager
def _translated(kind: type[httpx.TransportError], what: str) -> Iterator[None]:
    """Turn what a broken stream or a malformed answer raises into httpx's error, once, here."""
    try:
        yield
    except (OSError, trio.BrokenResourceError, h11.RemoteProtocolError) as error:
        raise kind(f"{what}: {reason(error)}") from error


def _frame() -> h11.Connection:
    return h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD_LIMIT)


@attrs.define(eq=False)
class Connection:
    """An open stream to one server; `socket` lies below it where TLS is between."""

    stream: trio.abc.Stream
    socket: trio.SocketStream
    _frame: h11.Connection = attrs.field(init=False, factory=_frame)
    _heard: bool = attrs.field(init=False, default=False)

    async def ask(self, request: httpx.Request, body: bytes) -> h11.Response:
        """Send a request and wait for the head of its answer; `Dropped` where nothing came."""
        self._heard = False
        await self._send(request, body)
        event = await self._next()
        while isinstance(event, h11.InformationalResponse):
            event = await self._next()
        if not isinstance(event, h11.Response):
            raise httpx.RemoteProtocolError(f"expected the head of an answer, got {event!r}")
        return event

    async def data(self) -> bytes | None:
        """The next part of the answer's body; None at its end."""
        event = await self._next()
        return bytes(event.data) if isinstance(event, h11.Data) else None

    async def _send(self, request: httpx.Request, body: bytes) -> None:
        head = h11.Request(
            method=request.method, target=request.url.raw_path, headers=request.headers.raw
        )
        parts = (head, h11.Data(data=body), h11.EndOfMessage())
        data = b"".join(self._frame.send(part) or b"" for part in parts)
        try:
            await self.stream.send_all(data)
        except trio.BrokenResourceError:
            # A server may refuse a large body before it has read it all: its answer says why.
            return

    async def _next(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        with _translated(httpx.ReadError, "the answer broke off"):
            event = self._frame.next_event()
            while event is h11.NEED_DATA:
                self._frame.receive_data(await self._receive())
                event = self._frame.next_event()
        return event

    async def _receive(self) -> bytes:
        try:
            received = bytes(await self.stream.receive_some())
        except trio.BrokenResourceError as error:
            if self._heard:
                raise
            raise Dropped(f"the connection broke before an answer: {reason(error)}") from error
        if not received and not self._heard:
            raise Dropped("the server closed the connection without an answer")
        self._heard = True
        return received

    def recycle(self) -> bool:
        """Make ready for the next exchange; False where the connection cannot be used again."""
        if self._frame.our_state is not h11.DONE or self._frame.their_state is not h11.DONE:
            return False
        self._frame.start_next_cycle()
        return True

    def stale(self) -> bool:
        """Whether the server closed the idle connection, or said what nobody asked for."""
        poll = select.poll()
        poll.register(self.socket.socket.fileno(), select.POLLIN)
        return bool(poll.poll(0))

    async def close(self) -> None:
        """Close at once, without a farewell; safe while a cancellation is under way."""
        await trio.aclose_forcefully(self.stream)


async def connect(host: str, port: int, tls: ssl.SSLContext | None) -> Connection:
    """Open a connection to a server, with TLS where a context is given; `ConnectError` if not."""
    with _translated(httpx.ConnectError, f"cannot connect to {host}:{port}"):
        socket = await trio.open_tcp_stream(host, port)
        if tls is None:
            return Connection(stream=socket, socket=socket)
        async with AsyncExitStack() as undo:
            undo.push_async_callback(trio.aclose_forcefully, socket)
            stream = trio.SSLStream(socket, tls, server_hostname=host, https_compatible=True)
            await stream.do_handshake()
            undo.pop_all()
    return Connection(stream=stream, socket=socket)
