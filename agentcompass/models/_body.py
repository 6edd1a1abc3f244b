"""The body of an answer, part by part: counted where its length is said, else framed by h11."""

from collections.abc import Awaitable, Callable
from typing import Protocol

import attrs
import h11
import httpx

from agentcompass.models._head import Begun, Head

_HEAD_LIMIT = 128 * 1024  # bytes of one answer's head
_BROKE_OFF = "the answer broke off"
# What h11 is told that was sent: how an answer is framed depends on the method alone.
_ASKED = h11.Request(method="POST", target="/", headers=[("Host", "any")])

# The next bytes, none where the server has closed.
Receive = Callable[[], Awaitable[bytes]]


class Body(Protocol):
    """What is left of an answer behind its head."""

    async def data(self) -> bytes | None:
        """The next part; None at the end."""
        ...

    @property
    def complete(self) -> bool:
        """Whether all of it has come, and nothing else."""
        ...


@attrs.define(eq=False)
class Counted:
    """`left` bytes have not come yet; fewer than none is more than was promised."""

    receive: Receive
    came: bytes
    left: int

    @classmethod
    def of(cls, begun: Begun, receive: Receive) -> "Counted":
        """The body of an answer that has begun."""
        return cls(receive, begun.came[: begun.size], begun.size - len(begun.came))

    @property
    def complete(self) -> bool:
        return self.left == 0

    async def data(self) -> bytes | None:
        if self.came:
            part, self.came = self.came, b""
            return part
        if self.left <= 0:
            return None
        part = await self.receive()
        if not part:
            raise httpx.ReadError(f"{_BROKE_OFF}: the server closed with {self.left} bytes to come")
        self.left -= len(part)
        return part if self.left >= 0 else part[: self.left]


def _frame() -> h11.Connection:
    frame = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD_LIMIT)
    frame.send(_ASKED)
    frame.send(h11.EndOfMessage())
    return frame


@attrs.define(eq=False)
class Framed:
    """An answer of any form, its head included."""

    receive: Receive
    _frame: h11.Connection = attrs.field(init=False, factory=_frame)

    async def head(self, received: bytes) -> Head:
        """The head of what begins so, behind any provisional ones."""
        self._feed(received)
        event = await self._next()
        while isinstance(event, h11.InformationalResponse):
            event = await self._next()
        if not isinstance(event, h11.Response):
            raise httpx.RemoteProtocolError(f"expected the head of an answer, got {event!r}")
        return Head(event.status_code, list(event.headers))

    @property
    def complete(self) -> bool:
        if self._frame.trailing_data != (b"", False):
            return False
        return self._frame.their_state is h11.DONE

    async def data(self) -> bytes | None:
        event = await self._next()
        return bytes(event.data) if isinstance(event, h11.Data) else None

    async def _next(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        while (event := self._parsed()) is h11.NEED_DATA:
            self._feed(await self.receive())
        return event

    def _feed(self, received: bytes) -> None:
        self._frame.receive_data(received)

    def _parsed(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        try:
            return self._frame.next_event()
        except h11.RemoteProtocolError as error:
            raise httpx.ReadError(f"{_BROKE_OFF}: {error}") from error
