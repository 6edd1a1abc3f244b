"""A container that somebody else restarted is no longer the session's."""

import pytest
import trio

from agentcompass.errors import EnvironmentFailed
from agentcompass.records.environment import NetworkPolicy
from tests.docker_engine import NO_ENGINE, docker
from tests.environments.docker_sessions import opened
from tests.processes import new_mark, wait_for_alive

pytestmark = [pytest.mark.docker, NO_ENGINE]

RESTARTED = "somebody restarted it"


async def test_no_command_runs_in_a_container_that_was_restarted_from_outside():
    """Its rules would be gone, and its processes are."""
    policy = NetworkPolicy(network_mode="allowlist", allowed_hosts=("192.0.2.1",))
    async with opened(network_policy=policy) as session:
        docker("restart", "--time=0", session.name)
        with pytest.raises(EnvironmentFailed, match=RESTARTED):
            await session.exec("touch /srv/ran")
        with pytest.raises(EnvironmentFailed, match=RESTARTED):
            await session.set_network_policy(NetworkPolicy())
        with pytest.raises(FileNotFoundError):
            await session.read("/srv/ran")


async def test_what_was_made_before_a_restart_cannot_be_started_after_it():
    """So it is enough to look for a restart when a command has been made."""
    async with opened() as session:
        api = session.engine
        path = f"/containers/{session.name}/exec"
        made = (await api.call("POST", path, body={"Cmd": ["touch", "/srv/ran"]}))["Id"]
        docker("restart", "--time=0", session.name)
        with pytest.raises(EnvironmentFailed, match="No such exec"):
            await api.call("POST", f"/exec/{made}/start", body={"Detach": True})


async def test_a_restart_under_a_command_is_no_result_of_it():
    mark = new_mark()
    async with opened() as session, trio.open_nursery() as nursery:

        async def run() -> None:
            with pytest.raises(EnvironmentFailed, match=RESTARTED):
                await session.exec("sleep 60", env={"MARK": mark})

        nursery.start_soon(run)
        await wait_for_alive(mark)
        await trio.to_thread.run_sync(docker, "restart", "--time=0", session.name)
