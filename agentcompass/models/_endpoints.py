"""What all users of one endpoint share while an event loop runs: its connections, its window."""

import attrs
import trio

from agentcompass.models._adaptive import Gate, Window
from agentcompass.models._transport import PooledTransport

# What a provider counts a rate limit for: URL, model and key.
Key = tuple[str, str, str]


@attrs.define(eq=False)
class Endpoint:
    """As many connections as its users need together; `streams` once it refused to do without."""

    key: Key = attrs.field(repr=False)
    transport: PooledTransport
    gate: Gate
    streams: bool = False
    users: int = 0


_OPEN: trio.lowlevel.RunVar[dict[Key, Endpoint]] = trio.lowlevel.RunVar("model endpoints")


def join(key: Key, connections: int) -> Endpoint:
    """The endpoint of this key, with room for `connections` more calls at once."""
    endpoints = _endpoints()
    endpoint = endpoints.get(key)
    if endpoint is None:
        gate = Gate(Window(connections, connections))
        endpoint = Endpoint(key=key, transport=PooledTransport(connections), gate=gate)
        endpoints[key] = endpoint
    else:
        resize(endpoint, connections)
    endpoint.users += 1
    return endpoint


async def leave(endpoint: Endpoint, connections: int) -> None:
    """Give the room back; the last one closes the connections."""
    endpoint.users -= 1
    if endpoint.users:
        resize(endpoint, -connections)
        return
    del _endpoints()[endpoint.key]
    await endpoint.transport.aclose()


def _endpoints() -> dict[Key, Endpoint]:
    try:
        return _OPEN.get()
    except LookupError:
        _OPEN.set({})
        return _OPEN.get()


def resize(endpoint: Endpoint, more: int) -> None:
    """Give it room for so many more calls at once, or fewer where negative."""
    slots = endpoint.transport.slots
    slots.total_tokens += more
    endpoint.gate.resize(int(slots.total_tokens))
