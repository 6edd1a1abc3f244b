"""A scripted HTTP server on the loopback interface: each request takes the next act."""

import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import attrs
import h11
import trio

Act = Callable[["Exchange"], Awaitable[None]]


@attrs.frozen(kw_only=True)
class Asked:
    """One request as the server read it."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@attrs.define
class Server:
    """Where the server listens, and what it has seen."""

    url: str
    asked: list[Asked] = attrs.field(factory=list)
    opened: int = 0
    live: int = 0
    _ended: trio.lowlevel.ParkingLot = attrs.field(factory=trio.lowlevel.ParkingLot)

    async def quiet(self) -> None:
        """Wait until no connection is open."""
        with trio.fail_after(10):
            while self.live:
                await self._ended.park()

    def ended(self) -> None:
        """Count a closed connection."""
        self.live -= 1
        self._ended.unpark_all()


@attrs.frozen(kw_only=True)
class Exchange:
    """One request being answered."""

    stream: trio.abc.Stream
    frame: h11.Connection
    asked: Asked

    async def send(self, *events: h11.Event) -> None:
        """Send events as one piece."""
        await self.stream.send_all(b"".join(self.frame.send(event) or b"" for event in events))

    async def head(self, status: int, size: int, headers: Mapping[str, str]) -> None:
        """Send the head of an answer whose body has `size` bytes."""
        fields = {"Content-Length": str(size), "Content-Type": "application/json", **headers}
        await self.send(h11.Response(status_code=status, headers=list(fields.items())))


def answer(body: Any, *, status: int = 200, after: float = 0, **headers: str) -> Act:
    """Answer with JSON, or with bytes as they are, `after` seconds."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    fields = {name.replace("_", "-"): value for name, value in headers.items()}

    async def act(exchange: Exchange) -> None:
        await trio.sleep(after)
        await exchange.head(status, len(data), fields)
        await exchange.send(h11.Data(data=data), h11.EndOfMessage())

    return act


def completion(content: str | None = "hi", **message: Any) -> Act:
    """Answer with an ordinary chat completion."""
    return answer(
        {"choices": [{"message": {"content": content, **message}, "finish_reason": "stop"}]}
    )


def drip(body: bytes, every: float) -> Act:
    """Answer one byte every so many seconds."""

    async def act(exchange: Exchange) -> None:
        await exchange.head(200, len(body), {})
        for byte in body:
            await trio.sleep(every)
            await exchange.send(h11.Data(data=bytes([byte])))

    return act


def cut(body: bytes = b"", *, size: int = 100) -> Act:
    """Promise `size` bytes, send `body` and close; close at once where the size is 0."""

    async def act(exchange: Exchange) -> None:
        if size:
            await exchange.head(200, size, {})
            await exchange.send(h11.Data(data=body))
        await exchange.stream.aclose()

    return act


async def hang(exchange: Exchange) -> None:
    """Never answer; end when the client has gone."""
    while await exchange.stream.receive_some():
        pass


@asynccontextmanager
async def serve(
    *script: Act, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[Server]:
    """A server whose last act repeats for every further request; `host` is where it listens."""
    acts = list(script) or [completion()]

    async def handle(stream: trio.abc.Stream) -> None:
        server.opened += 1
        server.live += 1
        if tls is not None:
            stream = trio.SSLStream(stream, tls, server_side=True, https_compatible=True)
        try:
            await _converse(stream, server, lambda: acts.pop(0) if len(acts) > 1 else acts[0])
        except (trio.BrokenResourceError, trio.ClosedResourceError, h11.ProtocolError):
            pass
        finally:
            server.ended()

    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host=host)
        port = listeners[0].socket.getsockname()[1]
        scheme = "http" if tls is None else "https"
        server = Server(url=f"{scheme}://{host}:{port}/v1")
        nursery.start_soon(trio.serve_listeners, handle, listeners)
        yield server
        nursery.cancel_scope.cancel()


async def _converse(stream: trio.abc.Stream, server: Server, next_act: Callable[[], Act]) -> None:
    frame = h11.Connection(h11.SERVER)
    while frame.our_state is h11.IDLE:
        asked = await _read(stream, frame)
        if asked is None:
            return
        server.asked.append(asked)
        await next_act()(Exchange(stream=stream, frame=frame, asked=asked))
        if frame.our_state is h11.DONE and frame.their_state is h11.DONE:
            frame.start_next_cycle()


async def _read(stream: trio.abc.Stream, frame: h11.Connection) -> Asked | None:
    head, body = None, b""
    while True:
        event = frame.next_event()
        if event is h11.NEED_DATA:
            frame.receive_data(await stream.receive_some())
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
        elif head is None:
            return None
        else:
            return Asked(
                method=head.method.decode(),
                target=head.target.decode(),
                headers={name.decode(): value.decode() for name, value in head.headers},
                body=body,
            )
