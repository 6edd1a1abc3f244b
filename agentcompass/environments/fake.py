"""Environment `fake`: scripted sessions that run nothing, for tests and for plug-in authors.

From the command line it is scripted by its parameters:

    --env fake --env-params '{"open_seconds": 1, "exec": [{"match": "make", "exit_code": 2}]}'

In Python there are three more ways, from the simple to the free: a script for each session, and a
handler that is asked for every command before the rules are.

    fake = FakeEnvironment(
        FakeConfig(close_seconds=2),
        script_for=lambda request: FakeScript(open_seconds=len(request.task_id)),
        handler=lambda asked: ExecResult(exit_code=0, stdout=asked.text, seconds=3),
    )

All times pass on trio's clock and nothing uses a thread, so that a virtual clock jumps over them;
host files are read and written at once. `fake.ledger` tells what happened.
"""

import math
import posixpath
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, ClassVar, get_args

import attrs
import trio

from agentcompass.environments._fake_files import FakeFiles
from agentcompass.environments._fake_ledger import Ledger
from agentcompass.environments._fake_script import (
    ExecRule,
    FakeCommand,
    FakeScript,
    Handler,
    at_least_0,
)
from agentcompass.environments._fake_session import FakeSession
from agentcompass.protocols import Capabilities, SessionRequest
from agentcompass.records.environment import EnvironmentSetup, NetworkMode, Resources

__all__ = [
    "ExecRule",
    "FakeCommand",
    "FakeConfig",
    "FakeEnvironment",
    "FakeScript",
    "FakeSession",
    "Handler",
    "Ledger",
]


@attrs.frozen(kw_only=True)
class FakeConfig(FakeScript):
    """Parameters of `fake`: how every session behaves, and the limits that the engine keeps."""

    sandbox_start_timeout: float = attrs.field(
        default=60.0,
        validator=at_least_0,
        metadata={"help": "Time to open a session; 0 is no limit.", "unit": "seconds"},
    )
    operation_timeout: float = attrs.field(
        default=600.0,
        validator=at_least_0,
        metadata={
            "help": "Time for one operation that has no limit of its own; 0 is no limit.",
            "unit": "seconds",
        },
    )


def _everything() -> Capabilities:
    sections = (EnvironmentSetup, Resources)
    return Capabilities(
        network_modes=frozenset(get_args(NetworkMode)),
        switches_network=True,
        gives=frozenset(field.name for section in sections for field in attrs.fields(section)),
    )


@attrs.define(eq=False)
class FakeEnvironment:
    """Opens scripted sessions. It claims to give whatever a plan asks for, unless told otherwise.

    `script_for` is asked once for each session and stands for the configured script.
    """

    id: ClassVar[str] = "fake"
    description: ClassVar[str] = "scripted sessions that run nothing, for tests and plug-in authors"
    Config: ClassVar[type[Any]] = FakeConfig

    config: FakeConfig = FakeConfig()
    script_for: Callable[[SessionRequest], FakeScript] | None = attrs.field(
        default=None, kw_only=True
    )
    handler: Handler | None = attrs.field(default=None, kw_only=True)
    capabilities: Capabilities = attrs.field(factory=_everything, kw_only=True)
    ledger: Ledger = attrs.field(factory=Ledger, init=False)
    sandbox_start_timeout: float | None = attrs.field(init=False)
    operation_timeout: float | None = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.sandbox_start_timeout = self.config.sandbox_start_timeout or None
        self.operation_timeout = self.config.operation_timeout or None

    async def preflight(self) -> None:
        """Always passes."""

    def running(self, *, keep: bool) -> AbstractAsyncContextManager[None]:
        """Needs nothing."""
        return nullcontext()

    async def open(self, request: SessionRequest) -> FakeSession:
        """A session with the script's files, after the script's time."""
        script = self.config if self.script_for is None else self.script_for(request)
        with self.ledger.opening(request):
            await trio.sleep(math.inf if "open" in script.hangs else script.open_seconds)
            self.ledger.fail_if_told(script, "open")
        return self._session(request, script)

    def _session(self, request: SessionRequest, script: FakeScript) -> FakeSession:
        workdir = posixpath.join("/app", request.plan.setup.workdir or "")
        files = FakeFiles(workdir)
        for path, text in script.files.items():
            files.write(path, text.encode())
        return FakeSession(
            request=request,
            script=script,
            ledger=self.ledger,
            handler=self.handler,
            files=files,
            workdir=workdir,
        )
