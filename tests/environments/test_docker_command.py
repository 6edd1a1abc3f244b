"""What a command in a container prints is read to its end, or for a while after the command's."""

import trio

from agentcompass.environments._docker_command import Output


async def test_an_output_that_goes_on_is_not_read_for_ever(autojump_clock):
    """Fails where it is read until nothing has come for a while."""
    output = Output(1000)

    async def chatter():
        while True:
            await trio.sleep(0.01)
            yield b"\1\0\0\0\0\0\0\1x"

    async with trio.open_nursery() as nursery:
        nursery.start_soon(output.read, chatter())
        began = trio.current_time()
        await output.wait_rest()
        assert trio.current_time() - began < 1
        nursery.cancel_scope.cancel()

    assert output.stdout.total > 10


async def test_the_end_of_an_output_is_not_waited_for_once_it_has_come(autojump_clock):
    output = Output(1000)

    async def nothing():
        return
        yield b""

    await output.read(nothing())
    began = trio.current_time()
    await output.wait_rest()

    assert trio.current_time() == began
