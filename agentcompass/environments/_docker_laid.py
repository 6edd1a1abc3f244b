"""What a command needs a file for: text too long for an argument, and input."""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import attrs
import trio

from agentcompass.deadlines import cleanup
from agentcompass.environments._docker_command import Command
from agentcompass.environments._docker_exec import Runner
from agentcompass.environments._docker_files import Files
from agentcompass.environments._docker_users import ids_of
from agentcompass.errors import EnvironmentFailed

# Reads its input from a file, which it takes away, and becomes the command.
_WITH_INPUT = 'exec <"$0" && rm -f -- "$0" 2>/dev/null; exec "$@"'
_REMOVE = 'rm -f -- "$@"'
_REMOVE_SECONDS = 5.0

log = logging.getLogger(__name__)


@attrs.frozen(eq=False, kw_only=True)
class Laid:
    """Lays files down in a container for a command; `shell`, if there is one, hands input over."""

    files: Files
    runner: Runner
    shell: str | None

    @asynccontextmanager
    async def around(
        self, command: Command, *, script: bytes | None, stdin: bytes
    ) -> AsyncIterator[Command]:
        """The command with its files, which only its user may read and which go with it."""
        if stdin and self.shell is None:
            raise EnvironmentFailed("the image has no shell, which would hand over standard input")
        paths = {
            f"/.agentcompass-{command.token}-{kind}": data  # a folder that no task can replace
            for kind, data in (("script", script), ("input", stdin or None))
            if data is not None
        }
        try:
            await self._write(paths, command.user)
            yield attrs.evolve(command, argv=self._argv(command, paths))
        finally:
            if paths and not self.runner.is_closed:
                with cleanup(self.runner.cleanup), trio.move_on_after(_REMOVE_SECONDS):
                    await self._remove(*paths)

    def _argv(self, command: Command, paths: Mapping[str, bytes]) -> tuple[str, ...]:
        argv = command.argv
        for path in paths:
            if path.endswith("-script"):
                argv = (*argv, path)
            elif self.shell is not None:
                argv = (self.shell, "-c", _WITH_INPUT, path, *argv)
        return argv

    async def _write(self, paths: Mapping[str, bytes], user: str) -> None:
        files = self.files
        if paths and user:
            files = attrs.evolve(files, owner=await ids_of(user, files))
        for path, data in paths.items():
            await files.write(path, data, 0o400)

    async def _remove(self, *paths: str) -> None:
        try:
            await self.runner.script(_REMOVE, *paths)
        except EnvironmentFailed as error:  # the container is lost or gone: said elsewhere
            log.debug("not removed: %s", error)
