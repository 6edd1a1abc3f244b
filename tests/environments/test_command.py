"""One command on this host: its pipes are read to the right point."""

import os

import pytest
import trio

from agentcompass.environments._command import OutputPipe, start
from agentcompass.environments._launch import Launch
from agentcompass.environments._output import OutputBuffer
from agentcompass.errors import EnvironmentFailed


def make_pipe() -> tuple[OutputPipe, int]:
    reader, writer = os.pipe()
    return OutputPipe(trio.lowlevel.FdStream(reader), OutputBuffer(1 << 20)), writer


async def test_draining_takes_what_is_in_the_pipe_and_waits_for_no_more():
    pipe, writer = make_pipe()
    os.write(writer, b"x" * 60_000)

    pipe.drain()

    assert pipe.buffer.total == 60_000
    os.close(writer)
    pipe.close()


class Echoing(OutputBuffer):
    """Has more written whenever something was read."""

    writer = -1

    def add(self, data: bytes) -> None:
        super().add(data)
        os.write(self.writer, b"more")


async def test_draining_does_not_follow_a_writer_that_goes_on():
    """Fails, by never ending, where draining goes on until the pipe is empty."""
    pipe, writer = make_pipe()
    pipe.buffer = Echoing(1 << 20)
    pipe.buffer.writer = writer
    os.write(writer, b"first")

    pipe.drain()

    assert pipe.buffer.text() == ("first", 0)
    os.close(writer)
    pipe.close()


async def test_whether_somebody_still_holds_the_other_end():
    pipe, writer = make_pipe()

    assert pipe.has_writers()
    os.close(writer)
    assert not pipe.has_writers()
    pipe.close()


async def test_arguments_and_variables_that_are_too_long_together_are_named():
    env = {f"V{number}".encode(): b"x" * 100_000 for number in range(60)}

    with pytest.raises(EnvironmentFailed, match="together"):
        await start(Launch(argv=(b"true",), cwd=b"/", env=env), stdin=b"", output_limit=1)
