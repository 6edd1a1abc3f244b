"""Sessions on the test images of the Docker Engine."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agentcompass.environments._docker_session import DockerSession
from agentcompass.environments.docker import Docker, DockerConfig
from agentcompass.records.environment import EnvironmentSetup
from tests.contract.environment import request
from tests.docker_engine import BOOKWORM


def make(**config: Any) -> Docker:
    """The provider, which pulls nothing."""
    return Docker(DockerConfig(pull="never", **config))


@asynccontextmanager
async def opened(
    image: str = BOOKWORM, *, config: dict[str, Any] | None = None, **options: Any
) -> AsyncIterator[DockerSession]:
    """An open session, closed at the end; `options` go into the plan."""
    setup = options.pop("setup", EnvironmentSetup(image=image))
    session = await make(**(config or {})).open(request(setup=setup, **options))
    try:
        yield session
    finally:
        await session.aclose()
