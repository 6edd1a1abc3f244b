"""One command on this host from its start to its last byte of output."""

import array
import errno
import fcntl
import os
import subprocess
import tempfile
import termios
from collections.abc import Mapping
from contextlib import ExitStack
from typing import BinaryIO, cast

import attrs
import trio

from agentcompass.environments._launch import Launch
from agentcompass.environments._output import OutputBuffer
from agentcompass.errors import EnvironmentFailed

_CHUNK_BYTES = 64 * 1024


@attrs.define(eq=False)
class OutputPipe:
    """The end of a pipe that a command writes to, and what came through it."""

    stream: trio.lowlevel.FdStream
    buffer: OutputBuffer

    async def pump(self) -> None:
        """Read until the last writer is gone."""
        while data := await self.stream.receive_some(_CHUNK_BYTES):
            self.buffer.add(data)

    def drain(self) -> None:
        """Read what is in the pipe now. Others may go on writing, but not before what is there."""
        size = array.array("i", [0])
        fcntl.ioctl(self.stream.fileno(), termios.FIONREAD, size)
        waiting = size[0]
        while waiting > 0:
            data = os.read(self.stream.fileno(), min(waiting, _CHUNK_BYTES))
            self.buffer.add(data)
            waiting -= len(data)

    def has_writers(self) -> bool:
        """Whether a process still holds the other end. May swallow a byte of what it writes."""
        try:
            return bool(os.read(self.stream.fileno(), 1))
        except BlockingIOError:
            return True

    async def discard(self) -> None:
        """Throw away what comes until the last writer is gone."""
        while await self.stream.receive_some(_CHUNK_BYTES):
            pass

    def close(self) -> None:
        """Give up this end."""
        self.stream.close()


@attrs.define(eq=False)
class Command:
    """A started command. `exit_code` is None while it runs; a signal is 128 and its number."""

    process: trio.Process
    stdout: OutputPipe
    stderr: OutputPipe
    exit_code: int | None = None

    @property
    def pid(self) -> int:
        """The process that was started; it leads a session and a group of its own."""
        return self.process.pid

    @property
    def pipes(self) -> tuple[OutputPipe, OutputPipe]:
        """Both outputs."""
        return (self.stdout, self.stderr)

    async def run(self) -> None:
        """Read the output until the started process ends, whoever else holds the pipes then."""
        async with trio.open_nursery() as nursery:
            for pipe in self.pipes:
                nursery.start_soon(pipe.pump)
            code = await self.process.wait()
            self.exit_code = code if code >= 0 else 128 - code
            nursery.cancel_scope.cancel()


async def start(launch: Launch, *, stdin: bytes, output_limit: int) -> Command:
    """Start a command in a session of its own. Raises `EnvironmentFailed` where that cannot be.

    Once the process exists there is no checkpoint before it is returned.
    """
    try:
        with ExitStack() as files:
            process = await _open(launch, stdin, files)
    except OSError as error:
        raise EnvironmentFailed(_why_not_started(launch, error)) from error
    return Command(
        process, _pipe(process.stdout, output_limit), _pipe(process.stderr, output_limit)
    )


async def _open(launch: Launch, stdin: bytes, files: ExitStack) -> trio.Process:
    given = await _unnamed_file(stdin, files) if stdin else subprocess.DEVNULL
    argv, passed = launch.argv, []
    if launch.script is not None:
        passed = [await _unnamed_file(launch.script, files)]
        argv = (*argv, f"/dev/fd/{passed[0]}".encode())
    return await trio.lowlevel.open_process(
        argv,
        stdin=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=launch.cwd,
        env=cast("Mapping[str, str]", launch.env),  # bytes are welcome as well
        start_new_session=True,
        pass_fds=passed,
    )


async def _unnamed_file(data: bytes, files: ExitStack) -> int:
    # A file, not a pipe: nobody has to feed it while the command runs.
    return files.enter_context(await trio.to_thread.run_sync(_file_with, data)).fileno()


def _file_with(data: bytes) -> BinaryIO:
    with ExitStack() as on_failure:
        file = on_failure.enter_context(tempfile.TemporaryFile())
        file.write(data)
        file.seek(0)
        on_failure.pop_all()
    return file


def _pipe(stream: trio.abc.ReceiveStream | None, limit: int) -> OutputPipe:
    assert isinstance(stream, trio.lowlevel.FdStream), "both outputs were asked for as pipes"
    return OutputPipe(stream, OutputBuffer(limit))


def _why_not_started(launch: Launch, error: OSError) -> str:
    program, folder = os.fsdecode(launch.argv[0]), os.fsdecode(launch.cwd)
    if error.errno == errno.E2BIG:
        return (
            f"cannot start {program!r}: its arguments and environment variables together are"
            " longer than the kernel takes: pass them in a file or on stdin"
        )
    if error.filename is not None and os.fsencode(error.filename) == launch.cwd:
        return f"cannot start {program!r}: working directory {folder!r}: {error.strerror}"
    return f"cannot start {program!r}: {error.strerror}"
