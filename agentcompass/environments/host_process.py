"""Environment `host_process`: tasks run as processes of this host, each session in a folder."""

import os
import platform
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import attrs
import trio

from agentcompass.environments._guard import guarded
from agentcompass.environments._host_env import folder_variables, host_variables
from agentcompass.environments._host_folder import SessionFolder, folders_begin_with, root_of
from agentcompass.environments._host_session import HostPlace, HostSession, check_user
from agentcompass.environments._host_shell import HostShell
from agentcompass.environments._procfs import GUARD, RUN, SESSION, ProcessTable
from agentcompass.environments._task_paths import TaskPaths, inside_app
from agentcompass.errors import EnvironmentFailed, UsageError
from agentcompass.protocols import Capabilities, SessionRequest
from agentcompass.records.environment import EnvironmentPlan
from agentcompass.records.validators import not_negative


@attrs.frozen(kw_only=True)
class HostProcessConfig:
    """Parameters of `host_process`."""

    sandbox_start_timeout: float = attrs.field(
        default=60.0,
        validator=not_negative,
        metadata={"help": "Time to open a session; 0 is no limit.", "unit": "seconds"},
    )
    operation_timeout: float = attrs.field(
        default=600.0,
        validator=not_negative,
        metadata={
            "help": "Time for one file or process operation that has no limit of its own;"
            " 0 is no limit.",
            "unit": "seconds",
        },
    )
    output_limit_bytes: int = attrs.field(
        default=2**20,
        validator=not_negative,
        metadata={
            "help": "What is kept of stdout, and of stderr, of one command: half of it from the"
            " beginning, half from the end.",
            "unit": "bytes",
        },
    )
    kill_grace_seconds: float = attrs.field(
        default=0.1,
        validator=not_negative,
        metadata={
            "help": "Time between SIGTERM and SIGKILL for processes that are ended.",
            "unit": "seconds",
        },
    )
    pass_env: tuple[str, ...] = attrs.field(
        default=(),
        metadata={
            "help": "Names of host variables that commands get as well; by default they get the"
            " few that programs need, and no keys.",
            "unit": "names",
        },
    )


class HostProcess:
    """Opens sessions that are folders and process trees of this host. No isolation is given."""

    id: ClassVar[str] = "host_process"
    description: ClassVar[str] = "processes of this host, each task in a folder of its own"
    Config: ClassVar[type[Any]] = HostProcessConfig
    capabilities = Capabilities(
        gives=frozenset({"workdir", "user", "os"}),
        ignores=frozenset(
            {"image", "build_context", "build_timeout_seconds", "cpu", "memory_mb", "storage_mb"}
        ),
    )

    def __init__(self, config: HostProcessConfig) -> None:
        self.config = config
        self.sandbox_start_timeout: float | None = config.sandbox_start_timeout or None
        self.operation_timeout: float | None = config.operation_timeout or None
        self._table = ProcessTable()
        self._program = _shell() or "/bin/sh"
        self._variables = host_variables(os.environ, config.pass_env)
        self._owner = _new_owner()

    async def preflight(self) -> None:
        """Raise `UsageError` where this host lacks /proc, a shell or room for folders."""
        await trio.to_thread.run_sync(_check_host)

    @asynccontextmanager
    async def running(self, *, keep: bool) -> AsyncIterator[None]:
        """Have a guard, which ends what sessions started once this process is killed."""
        if keep:
            yield
            return
        # Not the run id, which other results folders may have as well, nor that of a fork.
        self._owner = _new_owner()
        folders = await trio.to_thread.run_sync(folders_begin_with, self._owner)
        async with guarded(mark=f"{GUARD}={self._owner}", folders=folders):
            yield

    async def open(self, request: SessionRequest) -> HostSession:
        """A session whose folder is made, and whose processes are started, when they are needed."""
        workdir = _checked_workdir(request.plan)
        return HostSession(partial(self._place, request, workdir, self._owner), request.keep)

    def _place(self, request: SessionRequest, workdir: str, owner: str) -> HostPlace:
        token = secrets.token_hex(16)
        root = root_of(token, owner=owner)
        shell = HostShell(
            token=token,
            folder=str(root),
            output_limit=self.config.output_limit_bytes,
            grace_seconds=self.config.kill_grace_seconds,
            cleanup=request.cleanup,
            table=self._table,
        )
        return HostPlace(
            folder=SessionFolder(root, workdir),
            paths=TaskPaths(root, root / "app" / workdir),
            shell=shell,
            program=self._program,
            env={**self._variables, **folder_variables(root), **request.plan.env_variables},
            marks={RUN: request.run_id, GUARD: owner, SESSION: token},
        )


def _new_owner() -> str:
    return secrets.token_hex(6)  # short, since it is in the path of every socket of a task


def _check_host() -> None:
    if not Path("/proc/self/environ").exists():
        raise UsageError("environment host_process needs Linux with /proc mounted")
    if _shell() is None:
        raise UsageError("environment host_process needs bash or sh on PATH")
    try:
        tempfile.gettempdir()
    except FileNotFoundError as error:
        raise UsageError(
            f"environment host_process needs a folder for temporary files: {error}; set TMPDIR"
        ) from error


def _shell() -> str | None:
    return shutil.which("bash") or shutil.which("sh")


def _checked_workdir(plan: EnvironmentPlan) -> str:
    """The working directory relative to app/; `EnvironmentFailed` for what cannot be given."""
    setup = plan.setup
    check_user(setup.user)
    if setup.os is not None and setup.os.lower() != platform.system().lower():
        raise EnvironmentFailed(
            f"the task needs {setup.os!r}; host_process gives {platform.system()!r}"
        )
    if plan.network_policy.network_mode != "public":
        raise EnvironmentFailed(
            f"host_process cannot enforce network mode {plan.network_policy.network_mode!r};"
            " known: public"
        )
    return inside_app(setup.workdir or "/app")
