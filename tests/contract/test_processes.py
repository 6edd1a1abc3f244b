"""What every environment that runs real commands keeps: which processes end, and when."""

from collections.abc import AsyncIterator

import pytest
import trio

from agentcompass.errors import EnvironmentFailed
from agentcompass.protocols import Session
from tests.contract.environment import WITH_A_SHELL, Provider, opened
from tests.processes import alive, new_mark, wait_for_alive

SOON = 20.0

# Children in the group and out of it, some of which ignore SIGTERM, some orphaned.
TREE = """
trap '' TERM
sleep 60 | cat &
setsid sleep 60 &
(setsid bash -c 'trap "" TERM; sleep 60 & sleep 60' &)
nohup bash -c 'trap "" TERM; while :; do sleep 60; done' >/dev/null 2>&1 &
sleep 60
"""


@pytest.fixture(params=WITH_A_SHELL, ids=str)
def provider(request: pytest.FixtureRequest) -> Provider:
    return request.param


@pytest.fixture
async def session(provider: Provider) -> AsyncIterator[Session]:
    async with opened(provider) as session:
        yield session


@pytest.fixture
def mark() -> str:
    """What a command carries in its environment, so that its processes can be found."""
    return new_mark()


async def test_50_trees_that_fork_setsid_and_ignore_sigterm_leave_nobody(session, mark):
    """Fails where only the group is killed, or only processes in the tree."""
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            limit = trio.CapacityLimiter(10)

            async def one_round() -> None:
                async with limit:
                    result = await session.exec(TREE, env={"MARK": mark}, timeout_seconds=0.2)
                    assert result.timed_out

            for _ in range(50):
                nursery.start_soon(one_round)

    assert alive(mark) == []


async def test_a_cancelled_tree_is_gone_when_the_cancellation_is_through(session, mark):
    with trio.fail_after(SOON):
        async with trio.open_nursery() as nursery:

            async def run() -> None:
                await session.exec(TREE, env={"MARK": mark})

            nursery.start_soon(run)
            await wait_for_alive(mark, 8)
            nursery.cancel_scope.cancel()

    assert alive(mark) == []


async def test_a_timeout_ends_only_its_own_tree(session, mark):
    await session.exec("setsid sleep 60 & setsid sleep 60", env={"MARK": mark}, timeout_seconds=0.2)
    other = f"{mark}-other"
    await session.exec("setsid sleep 60 >/dev/null 2>&1 &", env={"MARK": other})

    await session.exec(TREE, env={"MARK": mark}, timeout_seconds=0.2)

    assert len(alive(other)) == 1
    assert alive(mark) == alive(other)


async def test_sigterm_comes_first_so_that_a_command_can_tidy_up(session):
    result = await session.exec(
        "trap 'echo tidied; exit' TERM; echo ready; while :; do sleep 0.01; done",
        timeout_seconds=0.3,
    )

    assert result.timed_out
    assert result.stdout == "ready\ntidied\n"


async def test_a_command_that_ends_does_not_wait_for_a_child_that_holds_its_output(session, mark):
    """Row 18, and the child goes on until the session is closed."""
    with trio.fail_after(SOON):
        result = await session.exec("sleep 60 & echo done", env={"MARK": mark})

    assert result.stdout == "done\n"
    assert len(alive(mark)) == 1


async def test_a_server_left_running_is_not_stopped_by_what_it_prints(session, mark):
    """Fails where the pipe is closed, or kept and not read, once the command has ended."""
    await session.exec(
        "(for i in $(seq 50); do head -c 4096 /dev/zero || exit; done; touch served) &",
        env={"MARK": mark},
    )

    waited = await session.exec("until test -e served; do sleep 0.05; done", timeout_seconds=SOON)

    assert waited.ok


BACKGROUND = {
    "in the group": "sleep 60 &",
    "out of the group": "setsid sleep 60 >/dev/null 2>&1 &",
    "orphaned": "(setsid sh -c 'sleep 60 & sleep 60' &) >/dev/null 2>&1",
    "ignoring SIGTERM": "(trap '' TERM; sleep 60) &",
    "without variables, in the group": 'cd /; env -i bash -c "sleep 60; : $MARK" &',
    "a daemon without variables": '(env -i setsid bash -c "sleep 60; : $MARK" &) >/dev/null 2>&1',
}


@pytest.mark.parametrize("way", BACKGROUND)
async def test_closing_ends_what_commands_left_running(provider, mark, way):
    session = await provider.make().open(provider.request())
    await session.exec(BACKGROUND[way], env={"MARK": mark})
    await wait_for_alive(mark)

    await session.aclose()

    assert alive(mark) == []


async def test_closing_waits_for_commands_that_are_just_being_started(provider, mark):
    session = await provider.make().open(provider.request())
    ended = []

    async def run() -> None:
        with pytest.raises(EnvironmentFailed, match="closed"):
            # So much input has to be laid down before the process is started.
            await session.exec(TREE, env={"MARK": mark}, stdin=bytes(100_000_000))
        ended.append(True)

    with trio.fail_after(SOON):
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(run)
            await trio.sleep(0.001)
            await session.aclose()
            assert ended == [True] * 3

    assert alive(mark) == []


async def test_closing_one_session_leaves_the_processes_of_another(provider, mark):
    async with opened(provider) as stays:
        await stays.exec("sleep 60 &", env={"MARK": mark})
        async with opened(provider) as goes:
            await goes.exec("sleep 60 &")

        assert len(alive(mark)) == 1
