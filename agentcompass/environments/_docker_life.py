"""The life of a container from its start to its end; only this package may start it anew."""

from collections.abc import Mapping
from typing import Any

import attrs

from agentcompass.environments import _docker_keeper as keeper
from agentcompass.environments._docker_container import why_not_running
from agentcompass.environments._docker_engine import Engine, EngineRefused
from agentcompass.environments._docker_files import Files
from agentcompass.environments._docker_frames import STDERR, STDOUT, Frames
from agentcompass.environments._docker_said import one_line
from agentcompass.errors import EnvironmentFailed

_LAST_LINES = 5


@attrs.define(eq=False, kw_only=True)
class Life:
    """The life of container `name`, whose first process has `program` as its only child, if any."""

    engine: Engine
    name: str
    program: bytes | None
    _began: str | None = attrs.field(default=None, init=False)

    async def begin(self) -> None:
        """Start it. Its program is written each time: a task may have put another in its place."""
        if self.program is not None:
            await Files(self.engine, self.name).write(keeper.PATH, self.program, 0o555)
        await self.engine.call("POST", f"/containers/{self.name}/start")
        self._began = (await self._inspect())["State"]["StartedAt"]

    async def renew(self) -> None:
        """End every process, as the kernel does with the first one, and begin again.

        Raises `EnvironmentFailed` where that does not stay up.
        """
        await self.engine.call("POST", f"/containers/{self.name}/stop", query={"t": "0"})
        await self.begin()
        await self.refuse_if_over()

    async def why_over(self) -> str | None:
        """What became of it, with the last it said; None where it goes on or nobody knows."""
        try:
            about = await self._inspect()
            if not about["State"]["Running"]:
                return why_not_running(self.name, about, await self._last_words())
        except EngineRefused as error:
            return f"container {self.name} is gone: somebody removed it ({error})"
        except EnvironmentFailed:
            return None
        if about["State"]["StartedAt"] != self._began:
            return (
                f"container {self.name} is dead: somebody restarted it, and its processes and the"
                " rules of its network are gone"
            )
        return why_not_running(self.name, about)

    async def refuse_if_over(self) -> None:
        """Raise `EnvironmentFailed` with what became of it."""
        if reason := await self.why_over():
            raise EnvironmentFailed(reason)

    async def _inspect(self) -> Mapping[str, Any]:
        about: Mapping[str, Any] = await self.engine.call("GET", f"/containers/{self.name}/json")
        return about

    async def _last_words(self) -> str:
        query = {"stdout": "1", "stderr": "1", "tail": str(_LAST_LINES)}
        path = f"/containers/{self.name}/logs"
        async with self.engine.stream("GET", path, query=query) as response:
            said = bytearray()
            frames = Frames({STDOUT: said.extend, STDERR: said.extend})
            async for piece in self.engine.pieces(response):
                frames.feed(piece)
        return one_line(said.decode(errors="replace"))
