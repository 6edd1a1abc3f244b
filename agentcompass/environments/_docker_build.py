"""Builds an image by the classic builder; the engine ends a build whose connection is closed."""

import json
import logging
import os
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing

import attrs
import trio
from docker import auth
from docker.errors import DockerException
from trio.from_thread import check_cancelled

from agentcompass.deadlines import deadline
from agentcompass.environments._docker_connect import endpoint
from agentcompass.environments._docker_context import Context
from agentcompass.environments._docker_engine import Engine
from agentcompass.environments._docker_said import one_line
from agentcompass.environments._docker_sent import Sent
from agentcompass.errors import EnvironmentFailed

BUILT = "agentcompass-build"
_LAST_LINES = 3

log = logging.getLogger(__name__)


@attrs.frozen(kw_only=True)
class Build:
    """What is built under which `name`; `dockerfile` is in the context."""

    name: str
    context: Context
    dockerfile: str
    platform: str | None

    async def run(self, seconds: float | None) -> None:
        """Build it within `seconds`, the sending of the context included; None is no limit.

        Raises `EnvironmentFailed` with the last that the build said.
        """
        what = f"{self.context.folder / self.dockerfile} cannot be built"
        try:
            with deadline(seconds, stretch="build", error=EnvironmentFailed):
                await self._run()
        except (EnvironmentFailed, OSError) as error:
            raise EnvironmentFailed(f"{what}: {error}") from error

    async def _run(self) -> None:
        headers = await trio.to_thread.run_sync(_credentials, abandon_on_cancel=True)
        where = await trio.to_thread.run_sync(endpoint, os.environ)
        sent = Sent(self.context.packed(check_cancelled))
        async with Engine(where) as engine:
            try:
                async with engine.stream(
                    "POST", "/build", query=self._query(), content=sent, headers=headers
                ) as response:
                    async with aclosing(engine.pieces(response)) as pieces:
                        await _follow(pieces)
            finally:
                await trio.to_thread.run_sync(sent.close)

    def _query(self) -> dict[str, object]:
        query: dict[str, object] = {
            "t": self.name,
            "dockerfile": self.dockerfile,
            "rm": "1",
            "forcerm": "1",
            "labels": {BUILT: "1"},
        }
        return query | ({"platform": self.platform} if self.platform else {})


async def _follow(pieces: AsyncIterator[bytes]) -> None:
    """Wait for the end of a build, which is in what the engine says and not in its status."""
    last: deque[str] = deque(maxlen=_LAST_LINES)
    rest = b""
    async for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            _note(line, last)
    _note(rest, last)


def _note(line: bytes, last: deque[str]) -> None:
    told = json.loads(line) if line.strip() else {}
    if "error" in told:
        raise EnvironmentFailed("; ".join([*last, one_line(str(told["error"]))]))
    if said := one_line(str(told.get("stream", ""))):
        last.append(said)
        log.debug("build: %s", said)


def _credentials() -> Mapping[str, str]:
    """What `docker login` left, for the images that a Dockerfile starts from. Blocking."""
    try:
        known = auth.load_config().get_all_credentials()  # type: ignore[no-untyped-call]
    except DockerException as error:
        raise EnvironmentFailed(f"the credentials of docker cannot be read: {error}") from error
    return {"X-Registry-Config": auth.encode_header(known).decode()} if known else {}
