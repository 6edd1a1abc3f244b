"""The real Claude Code and Codex, pointed at a loopback server, do small tasks.

Needs both programs (npm), in the folder that AGENTCOMPASS_PROGRAMS names. `make programs` installs
them into PROGRAMS, once, and runs these tests. On docker they are mounted, together with node.
"""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import attrs
import pytest

from agentcompass.harnesses.claude_code import ClaudeCode, ClaudeCodeConfig
from agentcompass.harnesses.codex import Codex, CodexConfig
from agentcompass.records.atif import AtifAgent, atif_document
from agentcompass.records.request import ModelSpec
from agentcompass.records.task import RunResult
from tests import atif_schema
from tests.contract.environment import HOST_PROCESS, opened
from tests.docker_engine import BOOKWORM, NO_ENGINE
from tests.harnesses.seams import context
from tests.harnesses.solving import KEY, calling, check_played, played
from tests.loopback import Exchange, answer, serve

talk = pytest.importorskip("tests.loopback_models", reason="the servers of the protocols")

PROGRAMS = os.environ.get("AGENTCOMPASS_PROGRAMS", "")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not PROGRAMS, reason="AGENTCOMPASS_PROGRAMS is not set: run `make programs`"
    ),
]

COMMAND = "echo 42 > answer.txt; ls"


@attrs.frozen(kw_only=True)
class Real:
    """A program, and how its model acts: the tool that it calls, and where its outcome stands."""

    harness: Any
    protocol: str
    tool: str
    arguments: dict[str, Any]
    outcome: str


REAL = {
    "claude": Real(
        harness=ClaudeCode(ClaudeCodeConfig(max_turns=5)),
        protocol="anthropic",
        tool="Bash",
        arguments={"command": COMMAND, "description": "write it"},
        outcome="tool_result",
    ),
    "codex": Real(
        harness=Codex(CodexConfig()),
        protocol="openai-responses",
        tool="exec_command",
        arguments={"cmd": COMMAND},
        outcome="function_call_output",
    ),
}


@pytest.mark.parametrize("name", REAL)
async def test_the_real_program_does_a_task(name: str) -> None:
    real = REAL[name]
    call = ("t1", real.tool, json.dumps(real.arguments))

    async def act(exchange: Exchange) -> None:
        asked = server.asked[-1]
        if asked.method != "POST":
            await answer({})(exchange)
            return
        done = f'"{real.outcome}"' in asked.body.decode()
        acts = talk.Said(text="I act.", calls=[call], finish="tool_calls")
        said = talk.Said(text="Done.") if done else acts
        await talk.streamed(real.protocol, said)(exchange)

    path = f"{PROGRAMS}:{os.environ['PATH']}"
    result = RunResult(task_id="t")
    async with (
        serve(act) as server,
        opened(HOST_PROCESS, env_variables={"PATH": path}) as session,
    ):
        model = ModelSpec(id="model-x", base_url=server.url, api_key=KEY)
        given = attrs.evolve(context(prompt="Write 42 into answer.txt."), model=model)
        async with real.harness.start(session, given) as agent:
            await agent.run(result)
            await agent.collect(result)
        written = await session.read("answer.txt")
        left = list(Path(session.workdir).parent.rglob("agentcompass-agent.*"))

    assert (written, result.final_answer, result.issues) == (b"42\n", "Done.", [])
    assert [len(step["observation"]) for step in result.trajectory["steps"]] == [1, 0]
    assert left == []
    assert {ask.headers.get("authorization") for ask in server.asked if ask.body} == {
        f"Bearer {KEY}"
    }
    assert result.telemetry["prompt_tokens"] == 200
    atif_schema.check(atif_document(result.trajectory, AtifAgent(name=name, version="1")))


ACTS = {
    "claude_code": ("anthropic", calling("Bash", "command")),
    "codex": ("openai-responses", calling("exec_command", "cmd")),
}
IN_CONTAINERS = "/opt/programs"  # npm's prefix, with the node_modules that the programs look for


def where(environment: str) -> dict[str, Any]:
    if environment == "host_process":
        variables = {"PATH": f"{PROGRAMS}:{os.environ['PATH']}"}
        return {"env_variables": variables}
    node = os.path.realpath(str(shutil.which("node")))
    prefix = Path(PROGRAMS).parents[1]
    path = f"{IN_CONTAINERS}/node_modules/.bin:/usr/local/bin:/usr/bin:/bin"
    return {
        "image": BOOKWORM,
        "pull": "never",
        "mounts": [f"{prefix}:{IN_CONTAINERS}:ro", f"{node}:/usr/local/bin/node:ro"],
        "env_variables": {"PATH": path},
    }


@pytest.mark.parametrize(
    "environment", ["host_process", pytest.param("docker", marks=[pytest.mark.docker, NO_ENGINE])]
)
@pytest.mark.parametrize("harness", ACTS)
async def test_the_real_program_solves_a_starter_task(
    harness: str, environment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    protocol, tongue = ACTS[harness]
    ran = await played(
        tmp_path,
        harness,
        protocol,
        tongue=tongue,
        environment=environment,
        environment_params=where(environment),
        benchmark_params={"sample_ids": ["sweep-script"]},
    )

    check_played(ran, harness, "sweep-script")
