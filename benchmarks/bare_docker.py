"""Containers without an engine: the docker command line, so many tasks at once.

python -m benchmarks.bare_docker TASKS TIMES CONCURRENCY IMAGE COMMAND
"""

import os
import sys
from collections.abc import Iterator

import trio


async def docker(*arguments: str) -> None:
    """One call, whose output is read; raises `CalledProcessError` where it fails."""
    command = ["docker", *arguments]
    await trio.run_process(command, capture_stdout=True, capture_stderr=True)


async def main(tasks: int, times: int, concurrency: int, image: str, command: str) -> None:
    """Start a container for each task, run its commands, remove it."""
    turns = iter(range(tasks))

    async def work(turns: Iterator[int]) -> None:
        for number in turns:
            name = f"bench-{os.getpid()}-{number}"
            try:
                await docker("run", "--detach", "--name", name, image, "sleep", "1000")
                for _ in range(times):
                    await docker("exec", name, "sh", "-c", command)
            finally:
                with trio.CancelScope(shield=True, deadline=trio.current_time() + 30):
                    await docker("rm", "--force", name)

    async with trio.open_nursery() as nursery:
        for _ in range(concurrency):
            nursery.start_soon(work, turns)


if __name__ == "__main__":
    tasks, times, concurrency = map(int, sys.argv[1:4])
    trio.run(main, tasks, times, concurrency, sys.argv[4], sys.argv[5])
