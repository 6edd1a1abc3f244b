"""Removing a container, so that it is known to be gone."""

import trio

from agentcompass.environments._docker_engine import Engine, EngineRefused


async def remove_container(engine: Engine, name: str) -> None:
    """Remove a container with its volumes, whatever it does; one that is gone is fine."""
    try:
        await engine.call("DELETE", f"/containers/{name}", query={"force": "1", "v": "1"})
    except EngineRefused as error:
        if error.status == 409 and "already in progress" in str(error):
            await _wait_gone(engine, name)
        elif error.status != 404:
            raise


async def _wait_gone(engine: Engine, name: str) -> None:
    while True:
        try:
            await engine.call("GET", f"/containers/{name}/json")
        except EngineRefused as error:
            if error.status == 404:
                return
            raise
        await trio.sleep(0.05)
