"""Processes inside a container end when they are said to have, whatever a task did against it."""

import pytest
import trio

from agentcompass.errors import EnvironmentFailed
from agentcompass.records.environment import NetworkPolicy
from tests.docker_engine import BOOKWORM, BUSYBOX, NO_ENGINE, NO_SHELL, docker
from tests.environments.docker_sessions import opened
from tests.processes import alive, new_mark, wait_for_alive

pytestmark = [pytest.mark.docker, NO_ENGINE]

NO_NETWORK = NetworkPolicy(network_mode="no-network")

# A shell and a sleep that end nobody, and say that all is well.
REPLACES = "ln -sf /bin/true /bin/sleep; ln -sf /bin/true /bin/sh"
# Writes into init and into the process that keeps the container alive, as root may, and replaces
# its program. With `seen`, tells what of that is there.
TAMPERS = """
import os, sys
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        exe = os.readlink(f"/proc/{pid}/exe")
    except OSError:
        continue
    if exe.startswith("/.agentcompass-keeper"):
        with open(f"/proc/{pid}/mem", "r+b", 0) as memory:
            memory.seek(0x400009)
            if "seen" not in sys.argv:
                memory.write(b"evil")
                memory.seek(0x400009)
            print("kept by", memory.read(4))
if "seen" not in sys.argv:
    os.remove("/.agentcompass-keeper")
    os.symlink("/usr/bin/yes", "/.agentcompass-keeper")
"""


@pytest.mark.parametrize("image", [BOOKWORM, BUSYBOX])
async def test_a_switch_ends_everybody_though_the_task_replaced_the_shell(image):
    """Fails where the container's own programs end processes, or keep it alive."""
    mark = new_mark()
    async with opened(image, network_policy=NO_NETWORK) as session:
        variables = {"MARK": mark}
        await session.exec(
            "setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' >/dev/null 2>&1 &",
            env=variables,
        )
        await wait_for_alive(mark)
        assert (await session.exec(REPLACES)).ok

        await session.set_network_policy(NetworkPolicy())

        assert alive(mark) == []
        assert (await session.exec(["readlink", "/bin/sh"])).stdout == "/bin/true\n"


async def test_a_switch_ends_what_a_task_made_of_the_process_that_keeps_the_container():
    """Fails where that goes on, checked by number and start: its memory is in root's reach."""
    async with opened(network_policy=NO_NETWORK) as session:
        before = await session.exec(["python3", "-c", TAMPERS])
        await session.set_network_policy(NetworkPolicy())
        after = await session.exec(["python3", "-c", TAMPERS, "seen"])

    assert before.stdout == "kept by b'evil'\n", before.stderr
    assert after.stdout == "kept by b'\\x00\\x00\\x00\\x00'\n"


async def _ended_by_the_switch(session, argv, mark):
    with pytest.raises(EnvironmentFailed):
        await session.exec(argv, env={"MARK": mark})


async def test_a_switch_keeps_the_files_and_asks_before_it_kills():
    async with opened(network_policy=NO_NETWORK) as session:
        await session.exec(
            "echo kept >/srv/file;"
            "(trap 'echo asked >/srv/asked; exit' TERM; while :; do sleep 0.01; done)"
            " >/dev/null 2>&1 &"
        )
        await session.set_network_policy(NetworkPolicy())

        assert (await session.exec("cat /srv/file /srv/asked")).stdout == "kept\nasked\n"


async def test_a_switch_needs_no_shell():
    mark = new_mark()
    async with opened(NO_SHELL, network_policy=NO_NETWORK) as session:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_ended_by_the_switch, session, ["sleep", "60"], mark)
            await wait_for_alive(mark)
            await session.set_network_policy(NetworkPolicy())
        assert alive(mark) == []
        assert (await session.exec(["printf", "%s", "on"])).stdout == "on"


# Commands whose processes, all or some of them, have cleared their environment.
CLEARED = {
    "the command itself": "exec env -i sh -c 'CODE'",
    "a child": "env -i sh -c 'CODE' & sleep 60",
    "a child out of the session": "env -i setsid sh -c 'CODE' & sleep 60",
    "an orphan in the session": "(env -i sh -c 'CODE' &); sleep 60",
    "an orphan out of the session": "(env -i setsid sh -c 'CODE' &); sleep 60",
}


@pytest.mark.parametrize("image", [BOOKWORM, BUSYBOX])
async def test_who_clears_its_variables_ends_too(image):
    """Fails where only the carriers of the token are ended, and who is linked to them."""
    async with opened(image) as session:
        for who, command in CLEARED.items():
            mark = new_mark()
            code = f"while :; do sleep 60; : {mark}; done"
            result = await session.exec(command.replace("CODE", code), timeout_seconds=0.4)
            assert result.timed_out
            assert alive(mark) == [], who
        assert (await session.exec("echo on")).ok


async def test_a_storm_of_forks_ends_too_and_the_container_goes_on():
    """Fails where a look for the family never ends, since each finds more of it."""
    mark = new_mark()
    forks = "trap : TERM; while :; do setsid env -i sleep 0.2 & sleep 0.1; done"
    storm = f"for i in $(seq 100); do ({forks}) & done; wait"
    async with opened() as session:
        result = await session.exec(storm, env={"MARK": mark}, timeout_seconds=1)
        assert result.timed_out
        assert alive(mark) == []
        assert (await session.exec("echo on")).ok


async def test_a_bomb_of_forks_stays_below_the_limit_and_ends_with_its_command():
    """By the end of the container where nothing more can be started in it."""
    mark = new_mark()
    async with opened(config={"pids": 200}) as session:
        result = await session.exec(
            "bomb() { bomb | bomb & }; bomb; sleep 60", env={"MARK": mark}, timeout_seconds=2
        )
        assert result.timed_out
        assert "Resource temporarily unavailable" in result.stderr
        assert alive(mark) == []


async def test_processes_end_in_an_image_whose_path_leads_nowhere():
    """Fails where the script that ends them looks for its programs there."""
    text = f"FROM {BOOKWORM}\nENV PATH=/nowhere\n".encode()
    build = ["docker", "build", "--tag", "agentcompass-test:path", "-"]
    await trio.run_process(build, stdin=text, capture_stdout=True, capture_stderr=True)
    async with opened("agentcompass-test:path") as session:
        result = await session.exec("while :; do :; done", timeout_seconds=0.3)
        assert result.timed_out
        assert (await session.exec("echo on")).ok


async def test_who_is_orphaned_by_sigterm_ends_too_though_other_commands_run():
    """Its parent takes along what linked it to the command, which was seen before."""
    mark = new_mark()
    code = f"while :; do sleep 60; : {mark}; done"
    command = f"sh -c 'env -i setsid sh -c \"trap : TERM; {code}\" & wait' & sleep 60"
    async with opened() as session, trio.open_nursery() as nursery:
        nursery.start_soon(session.exec, "sleep 60")
        await session.exec(command, timeout_seconds=0.4)
        assert alive(mark) == []
        nursery.cancel_scope.cancel()


async def test_a_daemon_of_an_earlier_command_outlives_a_later_ones_deadline():
    """Though it has neither token nor parent, as one that shall end."""
    mark = new_mark()
    async with opened() as session:
        await session.exec(f"(env -i setsid sh -c 'sleep 60; : {mark}' &) >/dev/null 2>&1")
        await wait_for_alive(mark)
        await session.exec("(env -i setsid sleep 60 &); sleep 60", timeout_seconds=0.3)

        assert len(alive(mark)) == 1


async def test_a_daemon_may_be_of_any_of_two_commands_that_run_at_once_and_stays():
    mark = new_mark()
    async with opened() as session, trio.open_nursery() as nursery:
        nursery.start_soon(session.exec, "sleep 60")
        await session.exec(
            f"(env -i setsid sh -c 'sleep 60; : {mark}' &) >/dev/null 2>&1; sleep 60",
            timeout_seconds=0.4,
        )
        assert len(alive(mark)) == 1
        nursery.cancel_scope.cancel()


async def test_a_command_that_ended_has_not_run_out_of_time_where_its_output_is_held():
    """Fails where the deadline bounds the time for the rest of its output as well, or that lasts
    for as long as something comes."""
    async with opened() as session:
        result = await session.exec(
            "(while :; do echo x; sleep 0.02; done) & exit 3", timeout_seconds=1.7
        )
    assert result.exit_code == 3


async def test_a_deadline_in_a_paused_container_ends_its_processes_or_says_that_it_is_lost():
    mark = new_mark()
    async with opened() as session:
        async with trio.open_nursery() as nursery:

            async def run() -> None:
                await session.exec("sleep 60", env={"MARK": mark}, timeout_seconds=1)

            nursery.start_soon(run)
            await wait_for_alive(mark)
            await trio.to_thread.run_sync(docker, "pause", session.name)

        assert alive(mark) == []
        with pytest.raises(EnvironmentFailed, match=r"the container was killed, since .*paused"):
            await session.exec("echo on")


async def test_a_shell_that_talks_nonsense_costs_the_container():
    async with opened() as session:
        await session.exec(REPLACES.replace("true", "false"))
        result = await session.exec(["tail", "-f", "/dev/null"], timeout_seconds=0.3)
        assert result.timed_out
        with pytest.raises(EnvironmentFailed, match="container was killed"):
            await session.exec(["true"])
