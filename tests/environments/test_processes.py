"""Which processes are one family, found in made-up process tables; and the shared real one."""

import os

import trio

from agentcompass.environments._processes import Family, end, of_command, of_session
from agentcompass.environments._procfs import Process, ProcessTable, scan


def process(pid: int, parent: int = 1, **known: object) -> Process:
    return Process(
        **{"pid": pid, "parent": parent, "group": pid, "session": pid, "started": pid, **known}
    )


def pids(family: Family, processes: list[Process]) -> set[int]:
    return {process.pid for process in family.members(processes)}


def test_a_commands_family_is_its_group_its_session_its_token_and_their_descendants():
    processes = [
        process(100, exec_token="ours"),
        process(101, group=100, session=100),
        process(102, group=102, session=100),
        process(103, exec_token="ours"),
        process(104, parent=103),
        process(105, parent=104),
        process(106, exec_token="others"),
        process(107, parent=106),
    ]

    family = Family(of_command(100, "ours"))

    assert pids(family, processes) == {100, 101, 102, 103, 104, 105}


def test_an_orphan_that_was_seen_stays_in_the_family():
    family = Family(of_command(100, "ours"))
    family.members([process(100), process(101, parent=100)])

    assert pids(family, [process(101, parent=1)]) == {101}


def test_a_number_that_was_given_out_again_is_somebody_else():
    """Fails where a process is known by its pid alone."""
    family = Family(of_command(100, "ours"))
    family.members([process(100), process(101, parent=100)])

    assert pids(family, [process(101, started=7)]) == set()


def test_a_sessions_family_is_its_token_and_what_is_left_of_its_commands():
    processes = [
        process(200, session_token="ours"),
        process(201, parent=200),
        process(202, session_token="others", group=300, session=300),
        process(203, group=300, session=300),
        process(204, cwd="/folder/app"),
        process(205, cwd="/folder (deleted)"),
        process(206, cwd="/folder-of-others"),
        process(207, group=301, session=301),
        process(301),
    ]

    family = Family(of_session("ours", "/folder", lambda: {300, 301}))

    assert pids(family, processes) == {200, 201, 203, 204}


def test_the_table_holds_this_hosts_processes_but_not_this_one():
    found = {process.pid: process for process in scan()}

    assert os.getpid() not in found
    assert os.getppid() in found
    assert all(process.is_still_there() for process in found.values() if process.pid == 1)


async def test_askers_share_a_scan_that_began_after_they_asked():
    """Fails where a scan that is under way is good enough: a process may start in between."""
    table = ProcessTable()
    results = []

    async def ask() -> None:
        results.append(await table.read())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        await trio.testing.wait_all_tasks_blocked()
        for _ in range(20):
            nursery.start_soon(ask)

    assert len(results) == 21
    assert len({id(result) for result in results}) == 2


async def test_who_does_not_end_is_looked_at_ever_more_rarely(autojump_clock):
    """Fails where every pause is as long as the first: then there are 400 looks."""
    immortal = process(2**22 + 1)  # a number that the kernel does not give: nobody is signalled
    looks = 0

    class Counting(ProcessTable):
        async def read(self) -> list[Process]:
            nonlocal looks
            looks += 1
            return [immortal]

    left = await end(Family(lambda processes: processes), Counting(), grace_seconds=1.0)

    assert left == [immortal]
    assert looks < 80
