"""The environments that the contract suite runs on, each as a factory of open sessions."""

import re
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest

from agentcompass.deadlines import CleanupClock
from agentcompass.environments.docker import Docker, DockerConfig
from agentcompass.environments.fake import FakeCommand, FakeConfig, FakeEnvironment
from agentcompass.environments.host_process import HostProcess, HostProcessConfig
from agentcompass.protocols import Environment, Session, SessionRequest
from agentcompass.records.environment import EnvironmentPlan, EnvironmentSetup, ExecResult
from tests.docker_engine import BOOKWORM, BUSYBOX, NO_ENGINE

OUTPUT_LIMIT = 64 * 1024


@attrs.frozen
class Provider:
    """An environment under test. `make` takes parameters of its Config by keyword."""

    name: str
    make: Callable[..., Environment]
    image: str | None = None

    def __str__(self) -> str:
        return self.name if self.image is None else self.image

    def request(self, **options: Any) -> SessionRequest:
        """As `request`, with the image of the provider in the plan."""
        setup = EnvironmentSetup(image=self.image)
        return request(**{"setup": setup, **options})


# Tests elsewhere may use the same engine.
RUN_ID = f"run-{uuid.uuid4().hex[:8]}"


def request(*, keep: bool = False, role: str = "agent", **plan: Any) -> SessionRequest:
    """A request for a session whose plan has the given fields."""
    return SessionRequest(
        plan=EnvironmentPlan(id="under-test", **plan),
        run_id=RUN_ID,
        task_id="task-1",
        attempt=1,
        role=role,
        cleanup=CleanupClock(30.0),
        keep=keep,
    )


@asynccontextmanager
async def opened(provider: Provider, **plan: Any) -> AsyncIterator[Session]:
    """An open session, closed at the end."""
    session = await provider.make().open(provider.request(**plan))
    try:
        yield session
    finally:
        await session.aclose()


def _host_process(**config: Any) -> Environment:
    return HostProcess(HostProcessConfig(**{"output_limit_bytes": OUTPUT_LIMIT, **config}))


def _tiny_shell(asked: FakeCommand) -> ExecResult:
    """Understands `printf WORD`, `printf WORD >&2`, `exit N` and `sleep N`, joined by `; `."""
    printed = {"": "", ">&2": ""}
    code, seconds = 0, 0.0
    for step in asked.text.split("; "):
        if told := re.fullmatch(r"printf (\S+) ?(>&2)?", step):
            printed[told[2] or ""] += told[1]
        elif told := re.fullmatch(r"exit (\d+)", step):
            code = int(told[1])
        elif told := re.fullmatch(r"sleep ([\d.]+)", step):
            seconds += float(told[1])
        else:
            raise AssertionError(f"the contract asks the fake for {step!r}")
    return ExecResult(exit_code=code, stdout=printed[""], stderr=printed[">&2"], seconds=seconds)


def _fake(**config: Any) -> Environment:
    return FakeEnvironment(FakeConfig(**config), handler=_tiny_shell)


def _docker(**config: Any) -> Environment:
    return Docker(DockerConfig(**{"output_limit_bytes": OUTPUT_LIMIT, "pull": "never", **config}))


HOST_PROCESS = Provider("host_process", _host_process)
FAKE = Provider("fake", _fake)
_ON_DOCKER = [
    pytest.param(
        Provider("docker", _docker, image), id=image, marks=[pytest.mark.docker, NO_ENGINE]
    )
    for image in (BOOKWORM, BUSYBOX)
]

ALL = (HOST_PROCESS, FAKE, *_ON_DOCKER)
WITH_A_SHELL = (HOST_PROCESS, _ON_DOCKER[0])
