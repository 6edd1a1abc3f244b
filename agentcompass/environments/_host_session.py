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


@attrs.frozen(eq=False, kw_only=True)
class HostPlace:
    """What a session has: `env` is what every command gets, `marks` what none can change."""

    folder: SessionFolder
    paths: TaskPaths
    shell: HostShell
    program: str
    env: Mapping[str, str] = attrs.field(repr=False)
    marks: Mapping[str, str]


@attrs.define(eq=False)
class HostSession:
    """See `protocols.Session`. Its place is found when it is first needed; many tasks need none."""

    _find: Callable[[], HostPlace]
    keep: bool
    _found: HostPlace | None = attrs.field(default=None, init=False)
    _is_closed: bool = attrs.field(default=False, init=False)

    @property
    def _place(self) -> HostPlace:
        if self._found is None:
            self._found = self._find()
        return self._found

    @property
    def workdir(self) -> str:
        """Where commands run unless told otherwise."""
        return str(self._place.paths.workdir)

    @property
    def name(self) -> str:
        """The folder, which is all that there is of a session beside its processes."""
        return str(self._place.folder.root)

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
        place = await self._ready()
        folder = place.paths.locate(cwd or ".")
        launch = make_launch(
            command,
            shell=os.fsencode(place.program),
            cwd=encode(str(folder)),
            env=encode_env({**place.env, **(env or {}), **place.marks}),
        )
        return await place.shell.run(launch, stdin=stdin, seconds=timeout_seconds)

    async def upload(self, source: Path, target: str) -> None:
        """Copy from the host; links are kept as links, and none in the session is followed."""

        def work(paths: TaskPaths) -> None:
            if not source.exists():
                raise EnvironmentFailed(f"{str(source)!r} is not there to be uploaded")
            copy(source, paths.writable(target), check_cancelled)

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

        def work(paths: TaskPaths) -> Transfer:
            located = paths.readable(source)
            if not located.exists():
                raise _Missing(f"there is no {source!r}")
            return copy(located, target, check_cancelled, exclude=exclude, limits=limits)

        return await self._in_thread(f"download of {source!r}", work)

    async def read(self, path: str) -> bytes:
        """The bytes of one file, of the session or of the host."""

        def work(paths: TaskPaths) -> bytes:
            try:
                return read_file(paths.locate(path))
            except (FileNotFoundError, NotADirectoryError) as error:
                raise _Missing(f"there is no {path!r}") from error

        return await self._in_thread(f"read of {path!r}", work)

    async def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Write one file of the session, at once: a reader sees the old one or the new one."""
        await self._in_thread(
            f"write of {path!r}", lambda paths: write_file(paths.writable(path), data, mode)
        )

    async def set_network_policy(self, policy: NetworkPolicy) -> None:
        """Only `public` can be had: processes of the host are on the host's network."""
        if policy.network_mode != "public":
            raise EnvironmentFailed(
                f"host_process cannot enforce network mode {policy.network_mode!r}; known: public"
            )

    async def aclose(self) -> None:
        """End the session's processes, then remove its folder unless it is to be kept."""
        self._is_closed = True
        if (place := self._found) is None:
            return
        try:
            await place.shell.aclose()
        finally:
            if not self.keep:
                await place.folder.remove()
            elif place.folder.is_made:
                log.info("kept session folder %s", self.name)

    async def _ready(self) -> HostPlace:
        """The place, with its folder made; raises `EnvironmentFailed` once it is closed."""
        if self._is_closed:
            raise EnvironmentFailed("the session is closed")
        await self._place.folder.ready()
        return self._place

    async def _in_thread(self, what: str, work: Callable[[TaskPaths], T]) -> T:
        place = await self._ready()
        try:
            return await trio.to_thread.run_sync(work, place.paths)
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
