"""What goes into a container by a file, for a command, is for its user alone and does not stay."""

import pytest

from tests.docker_engine import BOOKWORM, BUSYBOX, NO_ENGINE
from tests.environments.docker_sessions import opened

pytestmark = [pytest.mark.docker, NO_ENGINE]

LONG = ": " + "x" * 200_000 + "\n"
LOOK = "stat -c '%a %U' /.agentcompass-*-*; "
KEPT = "/.agentcompass-keeper\n"


@pytest.mark.parametrize("image", [BOOKWORM, BUSYBOX])
@pytest.mark.parametrize("user", [None, "nobody"])
async def test_a_long_command_and_input_are_read_by_their_user_and_gone_afterwards(image, user):
    async with opened(image) as session:
        told = await session.exec(LONG + LOOK + "cat", stdin=b"given\n", user=user)
        left = await session.exec("ls /.agentcompass-*")

    assert told.ok, told.stderr
    assert set(told.stdout.splitlines()) == {f"400 {user or 'root'}", "given"}
    assert left.stdout == KEPT


@pytest.mark.parametrize("command", [LONG + "sleep 60", "sleep 60"], ids=["long", "short"])
async def test_nothing_stays_of_a_command_that_ran_out_of_time(command):
    async with opened() as session:
        ended = await session.exec(command, stdin=b"given\n", timeout_seconds=0.5)
        assert ended.timed_out
        assert (await session.exec("ls /.agentcompass-*")).stdout == KEPT


async def test_nothing_stays_of_a_command_that_cannot_be_started():
    async with opened() as session:
        assert (await session.exec(["no-such-program"], stdin=b"given\n")).exit_code == 127
        assert (await session.exec("ls /.agentcompass-*")).stdout == KEPT


@pytest.mark.parametrize("work", ["rm -rf /tmp; echo x >/tmp", "rm -rf /tmp; ln -s /nowhere /tmp"])
async def test_what_a_task_makes_of_the_folder_for_temporary_files_is_in_nobodys_way(work):
    async with opened() as session:
        assert (await session.exec(work)).ok
        assert (await session.exec(LONG + "cat", stdin=b"given")).stdout == "given"
