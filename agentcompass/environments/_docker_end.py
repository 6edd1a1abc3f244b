"""How containers end: what the engine remembers of kills, and that one is gone once removed."""

import time

import trio

from agentcompass.environments._docker_container import HELPER
from agentcompass.environments._docker_engine import Engine, EngineRefused

_CLOCKS_DIFFER_SECONDS = 1


async def out_of_memory_kills(engine: Engine, name: str) -> int:
    """How often, as far as the engine remembers, a process of the container was killed for want
    of memory; the container itself may go on."""
    query = {
        "since": "0",
        "until": str(int(time.time()) + _CLOCKS_DIFFER_SECONDS),
        "filters": {"container": [name], "event": ["oom"]},
    }
    async with engine.stream("GET", "/events", query=query) as response:
        told = b"".join([piece async for piece in engine.pieces(response)])
    return len(told.split(b"\n")) - 1


async def remove_container(engine: Engine, name: str) -> None:
    """Remove a container with its volumes, whatever it does; one that is gone is fine."""
    try:
        await engine.call("DELETE", f"/containers/{name}", query={"force": "1", "v": "1"})
    except EngineRefused as error:
        if error.status == 409 and "already in progress" in str(error):
            await _wait_gone(engine, name)
        elif error.status != 404:
            raise


async def remove_session(engine: Engine, name: str) -> None:
    """Remove the container of a session, and the helper that it may have."""
    await remove_container(engine, name)
    await remove_container(engine, name + HELPER)


async def _wait_gone(engine: Engine, name: str) -> None:
    while True:
        try:
            await engine.call("GET", f"/containers/{name}/json")
        except EngineRefused as error:
            if error.status == 404:
                return
            raise
        await trio.sleep(0.05)
