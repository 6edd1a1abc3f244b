"""claude_code and codex in a container: what can be seen of them there, and what ends with them."""

from typing import Any

import attrs
import pytest
import trio

from agentcompass.errors import EnvironmentFailed
from agentcompass.harnesses.claude_code import ClaudeCode, ClaudeCodeConfig
from agentcompass.harnesses.codex import Codex, CodexConfig
from agentcompass.protocols import Session
from agentcompass.records.request import ModelSpec
from agentcompass.records.task import RunResult
from tests.docker_engine import BUSYBOX, NO_ENGINE, docker, gateway
from tests.environments.docker_sessions import opened
from tests.harnesses.seams import context
from tests.harnesses.solving import KEY, TONGUES
from tests.harnesses.test_starter_tasks import ON_DOCKER
from tests.loopback import Exchange, hang, serve
from tests.loopback_models import whole
from tests.processes import alive, new_mark

pytestmark = [pytest.mark.docker, NO_ENGINE]

HARNESSES: dict[str, tuple[Any, Any, str]] = {
    "claude_code": (ClaudeCode, ClaudeCodeConfig, "anthropic"),
    "codex": (Codex, CodexConfig, "openai-responses"),
}
MOUNTS = {"mounts": ON_DOCKER["environment_params"]["mounts"]}
# What the program starts for its model: it stays, in the background and out of the session.
LEAVES = "sleep 1000 >/dev/null 2>&1 & setsid sleep 1000 >/dev/null 2>&1 & echo looked"
FILES = 'find "$(ls -d /tmp/agentcompass-agent.*)" -printf "%m %u\\n" | sort -u'


def an_agent(name: str, session: Session, url: str, **config: Any) -> Any:
    harness, parameters, _ = HARNESSES[name]
    model = ModelSpec(id="org/m", base_url=url, api_key=KEY)
    given = attrs.evolve(context(prompt="Look around."), model=model)
    return harness(parameters(**config)).start(session, given)


async def look(session: Any) -> None:
    """The key is in no argument, in nothing that the engine tells, and in no readable file."""
    shown = docker("top", session.name, "-eo", "pid,args") + docker("inspect", session.name)
    assert "org/m" in shown  # the program is there
    assert KEY not in shown
    assert "Look around." not in shown
    assert (await session.exec(FILES)).stdout == "600 root\n700 root\n"
    assert KEY not in (await session.exec("env")).stdout


@pytest.mark.parametrize("name", HARNESSES)
async def test_at_its_deadline_the_program_is_gone_and_what_it_said_is_kept(name: str):
    mark, waits = new_mark(), trio.Event()
    first = whole(HARNESSES[name][2], TONGUES[name](LEAVES, ""))

    async def wait(exchange: Exchange) -> None:
        waits.set()
        await hang(exchange)

    result = RunResult(task_id="t")
    async with (
        serve(first, wait, host=gateway()) as server,
        opened(config=MOUNTS, env_variables={"MARK": mark}) as session,
        an_agent(name, session, server.url) as agent,
        trio.open_nursery() as nursery,
    ):
        limit = trio.CancelScope()

        async def watch() -> None:
            await waits.wait()
            await look(session)
            assert len(alive(mark)) >= 3
            limit.cancel()

        nursery.start_soon(watch)
        with limit:
            await agent.run(result)
        assert limit.cancelled_caught
        assert alive(mark) == []
        await agent.collect(result)
        left = await session.exec(f"ls -A /tmp; grep -rl {KEY} /tmp /root /app")

    assert left.stdout == ""
    (step,) = result.trajectory["steps"]
    assert [observation["content"].strip() for observation in step["observation"]] == ["looked"]


async def test_where_nothing_can_be_installed_it_is_to_be_put_into_the_image():
    async with opened(BUSYBOX) as session:
        with pytest.raises(EnvironmentFailed, match=r"put it into the image; .*no package manager"):
            async with an_agent("codex", session, "http://127.0.0.1:9/v1"):
                pass
