"""Which processes belong together, and ending all of them: asked first, then killed."""

import os
import signal
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

import attrs
import trio

from agentcompass.environments._procfs import Process, ProcessTable, scan

# Before the second look at processes that were told to end; each later pause is twice as long, up
# to the longest: most end at once, and a look costs something on a busy host.
_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.01, 0.08
# For what does not die of SIGKILL: a process inside a call of the kernel that cannot be broken off.
_PATIENCE_SECONDS = 3.0
_LAST_LOOKS = 5

Belongs = Callable[[Sequence[Process]], Iterable[Process]]


@attrs.define(eq=False)
class Family:
    """The processes that `belongs` picks, their descendants, and whoever was one of them before."""

    belongs: Belongs
    _seen: set[tuple[int, int]] = attrs.field(factory=set, init=False)

    def members(self, processes: Sequence[Process]) -> list[Process]:
        """Those of `processes` in the family. An orphan stays in it once it has been seen."""
        children = defaultdict(list)
        for process in processes:
            children[process.parent].append(process)
        found = {process.pid: process for process in self.belongs(processes)}
        found |= {process.pid: process for process in processes if process.identity in self._seen}
        waiting = list(found)
        while waiting:
            for child in children[waiting.pop()]:
                if child.pid not in found:
                    found[child.pid] = child
                    waiting.append(child.pid)
        self._seen.update(process.identity for process in found.values())
        return list(found.values())


def of_command(root: int, token: str) -> Belongs:
    """The process `root`, its group, its session, and whoever carries the command's token.

    `root` leads a session of its own and has not been waited for, so that its number is its own.
    """

    def belongs(processes: Sequence[Process]) -> list[Process]:
        return [
            process
            for process in processes
            if process.exec_token == token or root in (process.pid, process.group, process.session)
        ]

    return belongs


def of_session(token: str, folder: str, roots: Callable[[], Iterable[int]]) -> Belongs:
    """Whoever carries the session's token; of those without any, the groups of `roots`, and
    daemons, known by having no terminal and working inside `folder`.

    `roots` are commands that have ended and left something running. A live process with the
    number of one is somebody else's: the number was given out again.
    """

    def belongs(processes: Sequence[Process]) -> list[Process]:
        left = set(roots()) - {process.pid for process in processes}
        return [process for process in processes if _is_of_session(process, token, folder, left)]

    return belongs


def _is_of_session(process: Process, token: str, folder: str, roots: set[int]) -> bool:
    if process.session_token is not None:
        return process.session_token == token
    works_inside = f"{process.cwd}/".startswith(f"{folder}/")
    return works_inside or not roots.isdisjoint((process.group, process.session))


def send(processes: Iterable[Process], number: signal.Signals) -> None:
    """Signal the groups of `processes`; a whole group at once cannot fork away from it.

    Nothing but members is in such a group: every command starts a session of its own.
    """
    for group in {process.group for process in processes if process.is_still_there()}:
        if group > 1 and group != os.getpgrp():
            try:
                os.killpg(group, number)
            except (ProcessLookupError, PermissionError):
                continue


async def end(family: Family, table: ProcessTable, *, grace_seconds: float) -> list[Process]:
    """End a family and return who is left: nobody, unless SIGKILL has no effect.

    SIGTERM first; after `grace_seconds` SIGKILL, until two looks in a row find nobody. Cut off by
    an outer deadline, it kills once more without waiting for the deaths.
    """
    try:
        with trio.move_on_after(grace_seconds):
            await _until_gone(family, table, signal.SIGTERM)
            return []
        with trio.move_on_after(_PATIENCE_SECONDS):
            await _until_gone(family, table, signal.SIGKILL)
            return []
        return family.members(await table.read())
    except trio.Cancelled:
        _kill_now(family)
        raise


def _kill_now(family: Family) -> None:
    # More than one look, since a process may fork or leave its group between look and signal.
    for _ in range(_LAST_LOOKS):
        members = family.members(scan())
        if not members:
            return
        send(members, signal.SIGKILL)


async def _until_gone(family: Family, table: ProcessTable, number: signal.Signals) -> None:
    told: set[tuple[int, int]] = set()
    looks, pause = 0, _PAUSE_SECONDS
    while looks < 2:
        members = family.members(await table.read())
        looks = 0 if members else looks + 1
        # A second SIGTERM would interrupt what the first one set off.
        new = [process for process in members if process.identity not in told]
        send(new if number == signal.SIGTERM else members, number)
        told.update(process.identity for process in new)
        if members:
            await trio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
