"""One HTTP/1.1 exchange after another over one trio stream."""

import select
import ssl
from contextlib import AsyncExitStack

import attrs
import httpx
import trio

from agentcompass.models._body import Body, Counted, Framed
from agentcompass.models._head import Head, usual


class Dropped(httpx.RemoteProtocolError):
    """The server closed the connection before the first byte of its answer."""


def reason(error: BaseException) -> str:
    """Why a stream broke, in words: trio keeps the error of the socket or of TLS as the cause."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error) or type(error).__name__


@attrs.define(eq=False)
class Connection:
    """An open stream to one server; `socket` lies below it where TLS is between."""

    stream: trio.abc.Stream
    socket: trio.SocketStream
    _body: Body | None = attrs.field(init=False, default=None)

    async def ask(self, request: bytes) -> Head:
        """Send a request and wait for the head of its answer; `Dropped` where nothing came."""
        self._body = None
        await self._send(request)
        received = await self._first()
        if (begun := usual(received)) is not None:
            self._body = Counted.of(begun, self._receive)
            return begun.head
        self._body = framed = Framed(self._receive)
        return await framed.head(received)

    async def data(self) -> bytes | None:
        """The next part of the answer's body; None at its end."""
        return None if self._body is None else await self._body.data()

    async def _send(self, request: bytes) -> None:
        try:
            await self.stream.send_all(request)
        except trio.BrokenResourceError:
            # A server may refuse a large body before it has read it all: its answer says why.
            return

    async def _first(self) -> bytes:
        try:
            received = bytes(await self.stream.receive_some())
        except trio.BrokenResourceError as error:
            raise Dropped(f"the connection broke before an answer: {reason(error)}") from error
        if not received:
            raise Dropped("the server closed the connection without an answer")
        return received

    async def _receive(self) -> bytes:
        try:
            return bytes(await self.stream.receive_some())
        except trio.BrokenResourceError as error:
            raise httpx.ReadError(f"the answer broke off: {reason(error)}") from error

    def reusable(self) -> bool:
        """Whether the last exchange is over, and nothing came that nobody asked for."""
        return self._body is not None and self._body.complete

    def stale(self) -> bool:
        """Whether the server closed the idle connection, or said what nobody asked for."""
        if isinstance(self.stream, trio.SSLStream) and _has_undeciphered(self.stream):
            return True
        poll = select.poll()
        poll.register(self.socket.socket.fileno(), select.POLLIN)
        return bool(poll.poll(0))

    async def close(self) -> None:
        """Close at once, without a farewell; safe while a cancellation is under way."""
        await trio.aclose_forcefully(self.stream)


def _has_undeciphered(stream: "trio.SSLStream[trio.SocketStream]") -> bool:
    """Whether more was received together with the last answer: no socket tells of that."""
    return stream._incoming.pending > 0  # noqa: SLF001


async def connect(host: str, port: int, tls: ssl.SSLContext | None) -> Connection:
    """Open a connection to a server, with TLS where a context is given; `ConnectError` if not."""
    try:
        return await _opened(host, port, tls)
    except (OSError, trio.BrokenResourceError) as error:
        raise httpx.ConnectError(f"cannot connect to {host}:{port}: {reason(error)}") from error


async def _opened(host: str, port: int, tls: ssl.SSLContext | None) -> Connection:
    socket = await trio.open_tcp_stream(host, port)
    if tls is None:
        return Connection(stream=socket, socket=socket)
    async with AsyncExitStack() as undo:
        undo.push_async_callback(trio.aclose_forcefully, socket)
        stream = trio.SSLStream(socket, tls, server_hostname=host, https_compatible=True)
        await stream.do_handshake()
        undo.pop_all()
    return Connection(stream=stream, socket=socket)
