"""One open container: a task's paths, commands, files and network."""

import logging
import posixpath
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import trio

from agentcompass.environments._docker_command import Command
from agentcompass.environments._docker_end import out_of_memory_kills, remove_session
from agentcompass.environments._docker_engine import Engine
from agentcompass.environments._docker_exec import Runner
from agentcompass.environments._docker_files import Files
from agentcompass.environments._docker_laid import Laid
from agentcompass.environments._docker_network import Network
from agentcompass.environments._launch import Launch, encode_env, make_launch
from agentcompass.errors import EnvironmentFailed
from agentcompass.protocols import Resource
from agentcompass.records.environment import (
    ExecResult,
    NetworkPolicy,
    Transfer,
    TransferLimits,
)

_KILLED = 137
# An engine hears of the end of a command before that of the container which killed it.
_LOOKS, _BETWEEN_LOOKS_SECONDS = 3, 0.05

log = logging.getLogger(__name__)


@attrs.define(eq=False, kw_only=True)
class DockerSession:
    """See `protocols.Session`. `env` is what every command gets; `program` is the shell for text,
    `image` what it was started from, `built_context` whether that was built from the task's folder.
    """

    engine: Engine
    name: str
    workdir: str
    env: Mapping[str, str] = attrs.field(repr=False)
    program: str | None
    image: str
    built_context: bool
    runner: Runner
    files: Files
    network: Network
    resource: Resource
    keep: bool
    _running: set[trio.CancelScope] = attrs.field(factory=set, init=False)
    _memory_kills: int = attrs.field(default=0, init=False)
    _is_idle: trio.Event = attrs.field(factory=trio.Event, init=False)

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
        """Run a command; a process of it that the kernel killed for want of memory is told of."""
        async with self._at_work():
            launch = make_launch(
                command,
                shell=self._shell_for(command),
                cwd=self._path(cwd or ".").encode("utf-8", "surrogatepass"),
                env=encode_env({**self.env, **(env or {})}),
            )
            laid = Laid(files=self.files, runner=self.runner, shell=self.program)
            asked = _command(launch, user or "")
            async with laid.around(asked, script=launch.script, stdin=stdin) as asked:
                result = await self.runner.run(asked, timeout_seconds)
            if result.exit_code == _KILLED:
                for _ in range(_LOOKS):
                    await self._refuse_if_dead()
                    await trio.sleep(_BETWEEN_LOOKS_SECONDS)
                return await self._with_cause(result)
            return result

    async def upload(self, source: Path, target: str) -> None:
        """Copy from the host; what arrives belongs to the session's user."""
        async with self._at_work():
            await self.files.upload(source, self._path(target))

    async def download(
        self,
        source: str,
        target: Path,
        *,
        exclude: Sequence[str] = (),
        limits: TransferLimits | None = None,
    ) -> Transfer:
        """Copy to the host; `FileNotFoundError` where there is no `source`."""
        async with self._at_work():
            path = self._path(source)
            return await self.files.download(path, target, exclude=exclude, limits=limits)

    async def read(self, path: str) -> bytes:
        """The bytes of one file."""
        async with self._at_work():
            return await self.files.read(self._path(path))

    async def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Write one file."""
        async with self._at_work():
            await self.files.write(self._path(path), data, mode)

    async def set_network_policy(self, policy: NetworkPolicy) -> None:
        """Switch; where more is allowed than before, every process of the session ends first."""
        async with self._at_work():
            await self.runner.life.refuse_if_over()
            if self.network.widens(policy):
                log.info("processes of %s end, since its network policy is widened", self.name)
                await self.runner.end_everything()
            await self.network.enforce(policy)

    async def aclose(self) -> None:
        """Remove the container; with `keep` only its processes end."""
        if self.runner.is_closed:
            return
        self.runner.is_closed = True
        try:
            if self.keep:
                await self.runner.end_everything()
                log.info("kept container %s", self.name)
            else:
                await self._remove()
        finally:
            for scope in self._running:
                scope.cancel()
            if self._running:
                await self._is_idle.wait()
            await self.engine.aclose()

    async def _remove(self) -> None:
        await self.resource.releasing()
        try:
            await remove_session(self.engine, self.name)
        except EnvironmentFailed as error:
            await self.resource.release_failed(str(error))
            raise
        await self.resource.released()

    @asynccontextmanager
    async def _at_work(self) -> AsyncIterator[None]:
        """Around an operation: it ends when the session closes, and a fault tells what died."""
        self._refuse_if_closed()
        if self.runner.lost:
            raise EnvironmentFailed(self.runner.lost)
        scope = trio.CancelScope()
        if not self._running:
            self._is_idle = trio.Event()
        self._running.add(scope)
        try:
            with scope:
                try:
                    yield
                except EnvironmentFailed as error:
                    await self._refuse_if_dead(error)
                    raise
        finally:
            self._running.discard(scope)
            if not self._running:
                self._is_idle.set()
        if scope.cancelled_caught:
            self._refuse_if_closed()

    async def _with_cause(self, result: ExecResult) -> ExecResult:
        seen, self._memory_kills = (
            self._memory_kills,
            await out_of_memory_kills(self.engine, self.name),
        )
        if self._memory_kills <= seen:
            return result
        log.warning("a process of %s was killed: out of memory", self.name)
        note = "[killed: the container ran out of memory]\n"
        return attrs.evolve(result, stderr=result.stderr + note)

    def _refuse_if_closed(self) -> None:
        if self.runner.is_closed:
            raise EnvironmentFailed("the session is closed")

    async def _refuse_if_dead(self, cause: EnvironmentFailed | None = None) -> None:
        """Say that the container died where an operation failed for that."""
        self._refuse_if_closed()
        reason = self.runner.lost or await self.runner.life.why_over()
        if reason is not None:
            raise EnvironmentFailed(reason) from cause

    def _path(self, path: str) -> str:
        if "\0" in path:
            raise EnvironmentFailed(f"path {path!r} holds a NUL character")
        return "/" + posixpath.normpath(posixpath.join(self.workdir, path)).lstrip("/")

    def _shell_for(self, command: str | Sequence[str]) -> bytes:
        if self.program is None and isinstance(command, str):
            raise EnvironmentFailed("the image has no shell: give the command as a list")
        return (self.program or "").encode()


def _command(launch: Launch, user: str) -> Command:
    return Command(
        argv=tuple(_text(argument) for argument in launch.argv),
        cwd=_text(launch.cwd),
        env=tuple(f"{_text(name)}={_text(value)}" for name, value in launch.env.items()),
        user=user,
    )


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:  # the API takes text only
        return data.decode("utf-8", "replace")
