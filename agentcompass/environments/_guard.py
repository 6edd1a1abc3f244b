"""Starts and dismisses the guard: a process that ends what a killed engine's sessions left."""

import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import trio

from agentcompass.deadlines import CleanupClock, cleanup

_PROGRAM = Path(__file__).with_name("_guard_main.py")
# Until a killed guard is taken away: it never gets to take its time.
_REAP_SECONDS = 5.0

log = logging.getLogger(__name__)

# The engine's ends of the pipes. A fork of the engine (not a command: those are closed on exec)
# would hold them too, and the guard would take it for the engine.
_ends: set[int] = set()


def _let_go_in_fork() -> None:
    for end in _ends:
        os.close(end)
    _ends.clear()


os.register_at_fork(after_in_child=_let_go_in_fork)


@asynccontextmanager
async def guarded(*, mark: str, folders: str) -> AsyncIterator[None]:
    """Have a guard while inside; however the engine dies, it ends the processes of the run.

    `mark` is the `NAME=value` in the environment of all its commands, `folders` what the paths of
    all its session folders begin with. Where no guard can be started, that is a warning.
    """
    guard = await _start(mark, folders)
    try:
        yield
    finally:
        if guard is not None:
            await guard.dismiss()


@attrs.define(eq=False)
class _Guard:
    process: trio.Process
    end: int

    async def dismiss(self) -> None:
        """Kill the guard, which is all it needs to know, and take it away."""
        if self.end not in _ends:
            return  # this is a fork of the engine, and the guard is not its own
        ended = self.process.poll()
        if ended is not None:
            log.warning("the guard of this run had ended early, with exit code %d", ended)
        self.process.kill()
        _close(self.end)
        with cleanup(CleanupClock(_REAP_SECONDS)):
            await self.process.wait()


async def _start(mark: str, folders: str) -> _Guard | None:
    read_end, write_end = os.pipe()
    _ends.add(write_end)
    try:
        process = await trio.lowlevel.open_process(
            [sys.executable, "-I", "-S", str(_PROGRAM), str(read_end), mark, folders],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[read_end],
            start_new_session=True,
            cwd="/",
            env=_variables(),
        )
    except OSError as error:
        _close(write_end)
        log.warning(
            "no guard for this run: %s; if it is killed, end the processes that are left"
            " (%s in their environment) by hand",
            error,
            mark,
        )
        return None
    except BaseException:
        _close(write_end)
        raise
    finally:
        os.close(read_end)
    return _Guard(process, write_end)


def _variables() -> dict[str, str]:
    # No mark and no key, and what the interpreter needs to find its own library.
    return {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}


def _close(end: int) -> None:
    _ends.discard(end)
    os.close(end)
