"""One open host session: a task's paths and commands, in a folder and processes of its own."""

import logging
import os
import pwd
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import attrs
import trio
from trio.from_thread import check_cancelled

from agentcompass.environments._copy import copy, read_file, write_file
from agentcompass.environments._host_folder import SessionFolder
from agentcompass.environments._host_shell import HostShell
from agentcompass.environments._launch import encode, encode_env, make_launch
from agentcompass.environments._task_paths import TaskPaths
from agentcompass.errors import EnvironmentFailed
from agentcompass.records.environment import (
    ExecResult,
    NetworkPolicy,
    Transfer,
    TransferLimits,
)

T = TypeVar("T")

log = logging.getLogger(__name__)


@attrs.define(eq=False, kw_only=True)
class HostSession:
    """See `protocols.Session`. `env` is what every command gets, `marks` what none can change."""

    folder: SessionFolder
    paths: TaskPaths
    shell: HostShell
    program: str
    env: Mapping[str, str] = attrs.field(repr=False)
    marks: Mapping[str, str]
    keep: bool
    workdir: str = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.workdir = str(self.paths.workdir)

    @property
    def name(self) -> str:
        """The folder, which is all that there is of a session beside its processes."""
        return str(self.paths.root)

    async def exec(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout_seconds: float | None = None,
        user: str | None = None,
    ) -> ExecResult:
        """Run a command as the current user; no other one can be given."""
        check_user(user)
        await self.folder.ready()
        folder = self.paths.locate(cwd or ".")
        launch = make_launch(
            command,
            shell=os.fsencode(self.program),
            cwd=encode(str(folder)),
            env=encode_env({**self.env, **(env or {}), **self.marks}),
        )
        return await self.shell.run(launch, stdin=stdin, seconds=timeout_seconds)

    async def upload(self, source: Path, target: str) -> None:
        """Copy from the host; links are kept as links, and none in the session is followed."""

        def work() -> None:
            if not source.exists():
                raise EnvironmentFailed(f"{str(source)!r} is not there to be uploaded")
            copy(source, self.paths.writable(target), check_cancelled)

        await self._in_thread(f"upload to {target!r}", work)

    async def download(
        self,
        source: str,
        target: Path,
        *,
        exclude: Sequence[str] = (),
        limits: TransferLimits | None = None,
    ) -> Transfer:
        """Copy to the host; `FileNotFoundError` where there is no `source`."""

        def work() -> Transfer:
            located = self.paths.readable(source)
            if not located.exists():
                raise _Missing(f"there is no {source!r}")
            return copy(located, target, check_cancelled, exclude=exclude, limits=limits)

        return await self._in_thread(f"download of {source!r}", work)

    async def read(self, path: str) -> bytes:
        """The bytes of one file, of the session or of the host."""

        def work() -> bytes:
            try:
                return read_file(self.paths.locate(path))
            except (FileNotFoundError, NotADirectoryError) as error:
                raise _Missing(f"there is no {path!r}") from error

        return await self._in_thread(f"read of {path!r}", work)

    async def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Write one file of the session, at once: a reader sees the old one or the new one."""
        await self._in_thread(
            f"write of {path!r}", lambda: write_file(self.paths.writable(path), data, mode)
        )

    async def set_network_policy(self, policy: NetworkPolicy) -> None:
        """Only `public` can be had: processes of the host are on the host's network."""
        if policy.network_mode != "public":
            raise EnvironmentFailed(
                f"host_process cannot enforce network mode {policy.network_mode!r}; known: public"
            )

    async def aclose(self) -> None:
        """End the session's processes, then remove its folder unless it is to be kept."""
        try:
            await self.shell.aclose()
        finally:
            if not self.keep:
                await self.folder.remove()
            elif self.folder.is_made:
                log.info("kept session folder %s", self.paths.root)

    async def _in_thread(self, what: str, work: Callable[[], T]) -> T:
        await self.folder.ready()
        try:
            return await trio.to_thread.run_sync(work)
        except _Missing:
            raise
        except (OSError, ValueError) as error:
            raise EnvironmentFailed(f"{what} failed: {error}") from error


class _Missing(FileNotFoundError):
    """What was asked for is not there, as against what vanished under way."""


def check_user(user: str | None) -> None:
    """Raise `EnvironmentFailed` for any user but the one that this process runs as."""
    if not user:
        return
    own = os.getuid()
    try:
        name = pwd.getpwuid(own).pw_name
    except KeyError:
        name = str(own)
    if user not in (name, str(own)):
        raise EnvironmentFailed(
            f"host_process runs commands as the current user, {name!r}, not as {user!r}"
        )
