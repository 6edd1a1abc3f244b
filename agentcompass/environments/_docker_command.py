"""One command in a container: how it is asked for, what it prints, why it did not start."""

import logging
import uuid
from collections.abc import AsyncIterator

import attrs
import trio

from agentcompass.environments._docker_frames import STDERR, STDOUT, Frames
from agentcompass.environments._docker_kill import EXEC
from agentcompass.environments._output import OutputBuffer
from agentcompass.errors import EnvironmentFailed

# How long an output is read on once the command has ended and a process that it left behind still
# holds it: not in one stretch, so that a reader that was held up has its turn in between. The
# engine itself waits for 2 s before it says that such a command has ended.
_ROUNDS, _ROUND_SECONDS = 4, 0.1

log = logging.getLogger(__name__)


@attrs.frozen(kw_only=True)
class Command:
    """One command as the engine gets it. Nothing of `env` is in `argv`."""

    argv: tuple[str, ...]
    cwd: str = "/"
    env: tuple[str, ...] = attrs.field(default=(), repr=False)
    user: str = ""
    token: str = attrs.field(factory=lambda: uuid.uuid4().hex)

    def body(self) -> dict[str, object]:
        """The request that creates it."""
        return {
            "AttachStdout": True,
            "AttachStderr": True,
            "Cmd": self.argv,
            "Env": [*self.env, f"{EXEC}={self.token}"],
            "WorkingDir": self.cwd,
            "User": self.user,
        }


@attrs.frozen
class State:
    """What the engine knows of a command; `pid` is 0 while, or where, it was not started."""

    exit_code: int | None
    pid: int


@attrs.define(eq=False)
class Output:
    """What a command prints, and whether the last of it has come."""

    limit: int
    stdout: OutputBuffer = attrs.field(init=False)
    stderr: OutputBuffer = attrs.field(init=False)
    over: trio.Event = attrs.field(factory=trio.Event, init=False)

    def __attrs_post_init__(self) -> None:
        self.stdout, self.stderr = OutputBuffer(self.limit), OutputBuffer(self.limit)

    async def read(self, pieces: AsyncIterator[bytes]) -> None:
        """Take everything until the stream ends, by whatever end: the command's state is asked
        for elsewhere, and tells what that meant."""
        frames = Frames({STDOUT: self.stdout.add, STDERR: self.stderr.add})
        try:
            async for piece in pieces:
                frames.feed(piece)
        except EnvironmentFailed as error:
            log.debug("an output ended early: %s", error)
        self.over.set()

    async def wait_over(self, seconds: float) -> bool:
        """Whether the stream ends within `seconds`."""
        with trio.move_on_after(seconds):
            await self.over.wait()
        return self.over.is_set()

    async def wait_rest(self) -> None:
        """Return once the stream is over, or what came before the command's end is read."""
        for _ in range(_ROUNDS):
            if await self.wait_over(_ROUND_SECONDS):
                return


def why_not_started(command: Command, said: str) -> str:
    """In the words of this package where the reason is a common one (runc says it on stdout)."""
    reason = " ".join(said.split())
    program = command.argv[0]
    if "chdir to cwd" in reason or "mkdir" in reason:
        kind = "not a directory" if "not a directory" in reason else "no such directory"
        kind = "permission denied" if "permission denied" in reason else kind
        return f"cannot start {program!r}: working directory {command.cwd!r}: {kind}"
    for mark, kind in (
        ("executable file not found", "no such program in the image"),
        ("no such file or directory", "no such program in the image"),
        ("argument list too long", "its arguments and variables are longer than the kernel takes"),
        ("permission denied", "permission denied"),
    ):
        if mark in reason:
            return f"cannot start {program!r}: {kind}"
    return f"cannot start {program!r}: {reason or 'the engine does not say why'}"
