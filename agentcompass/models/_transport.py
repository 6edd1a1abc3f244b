"""A keep-alive pool of connections, whose cost does not grow with its size.

Measured: the pool of httpx takes 5 to 10 ms of CPU a call, more with every connection.
Neither proxies nor HTTP/2.
"""

import ssl
from functools import cached_property
from typing import Self

import attrs
import httpx
import trio

from agentcompass.models._head import Head
from agentcompass.models._target import Origin
from agentcompass.models._wire import Connection, Dropped, connect

_BODY_LIMIT = 64 * 2**20  # bytes of one answer


@attrs.define(eq=False)
class Lease:
    """A slot and a connection for one exchange: waited for at the entry, given back at the exit."""

    _pool: "PooledTransport"
    _origin: Origin
    _connection: Connection | None = attrs.field(init=False, default=None)
    _size: int = attrs.field(init=False, default=0)

    async def __aenter__(self) -> Self:
        try:
            self._pool.slots.acquire_on_behalf_of_nowait(self)
        except trio.WouldBlock:
            await self._pool.slots.acquire_on_behalf_of(self)
        return self

    async def __aexit__(self, *exc: object) -> None:
        try:
            if self._connection is not None:
                await self._pool.give_back(self._origin, self._connection)
        finally:
            self._pool.slots.release_on_behalf_of(self)

    async def ask(self, request: bytes) -> Head:
        """Send a request, once more where a kept connection turns out to be closed."""
        self._connection = await self._pool.take(self._origin)
        if self._connection is not None:
            try:
                return await self._connection.ask(request)
            except Dropped:
                await self._connection.close()
                self._connection = None
        self._connection = await self._pool.connect(self._origin)
        return await self._connection.ask(request)

    async def data(self) -> bytes | None:
        """The next part of the answer's body; None at its end."""
        part = None if self._connection is None else await self._connection.data()
        if part is not None:
            self._size += len(part)
            if self._size > _BODY_LIMIT:
                raise httpx.ReadError(f"the answer is larger than {_BODY_LIMIT} bytes")
        return part


class PooledTransport:
    """At most `connections` requests at once; the connection that was idle shortest goes first."""

    def __init__(self, connections: int) -> None:
        self.slots = trio.CapacityLimiter(max(1, connections))
        self._idle: dict[Origin, list[Connection]] = {}
        self._closed = False

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    def lease(self, origin: Origin) -> Lease:
        """What one exchange is made by."""
        return Lease(self, origin)

    async def connect(self, origin: Origin) -> Connection:
        """A fresh connection."""
        return await connect(
            origin.host, origin.port, self._tls if origin.scheme == "https" else None
        )

    async def take(self, origin: Origin) -> Connection | None:
        """A kept connection that can be used, if there is one."""
        idle = self._idle.get(origin, [])
        while idle:
            connection = idle.pop()
            if not connection.stale():
                return connection
            await connection.close()
        return None

    async def give_back(self, origin: Origin, connection: Connection) -> None:
        """Keep a connection whose exchange is complete; close any other."""
        if not self._closed and connection.reusable():
            self._idle.setdefault(origin, []).append(connection)
        else:
            await connection.close()

    async def aclose(self) -> None:
        """Close every idle connection; those in use close when they are given back."""
        self._closed = True
        for idle in self._idle.values():
            while idle:
                await idle.pop().close()
