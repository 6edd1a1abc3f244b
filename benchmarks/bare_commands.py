"""Commands without an engine: what running them costs a trio program at least.

    python -m benchmarks.bare_commands run_process|posix_spawn TASKS TIMES CONCURRENCY COMMAND

Each command gets a session of its own, and what it prints is read to the end.
"""

import os
import sys
from collections.abc import Awaitable, Callable, Iterator

import trio

SHELL = "/bin/sh"


async def by_run_process(command: str) -> None:
    """As trio itself does it."""
    await trio.run_process(
        [SHELL, "-c", command], capture_stdout=True, capture_stderr=True, start_new_session=True
    )


async def by_posix_spawn(command: str) -> None:
    """With one call of the C library, and one pipe for both outputs."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    copies = [(os.POSIX_SPAWN_DUP2, writing, number) for number in (1, 2)]
    pid = _spawn([SHELL, "-c", command], copies)
    os.close(writing)
    async with trio.lowlevel.FdStream(reading) as output:
        while await output.receive_some():
            pass
    ended = os.pidfd_open(pid)
    await trio.lowlevel.wait_readable(ended)
    os.close(ended)
    assert _reap(pid) == 0


# Both take no time worth speaking of.


def _spawn(argv: list[str], copies: list[tuple[int, int, int]]) -> int:
    return os.posix_spawn(argv[0], argv, os.environ, file_actions=copies, setsid=True)


def _reap(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


WAYS: dict[str, Callable[[str], Awaitable[None]]] = {
    "run_process": by_run_process,
    "posix_spawn": by_posix_spawn,
}


async def main(way: str, tasks: int, times: int, concurrency: int, command: str) -> None:
    """Run all of them, so many at once."""
    turns = iter(range(tasks))

    async def work(turns: Iterator[int]) -> None:
        for _ in turns:
            for _ in range(times):
                await WAYS[way](command)

    async with trio.open_nursery() as nursery:
        for _ in range(concurrency):
            nursery.start_soon(work, turns)


if __name__ == "__main__":
    tasks, times, concurrency = map(int, sys.argv[2:5])
    trio.run(main, sys.argv[1], tasks, times, concurrency, sys.argv[5])
