"""Commands of the agent in real shells: one stream, its own exit code, and any size."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agentcompass.deadlines import CleanupClock
from agentcompass.environments.host_process import HostProcess, HostProcessConfig
from agentcompass.harnesses._mini_shell import Output, Shell
from agentcompass.harnesses.mini_swe_agent import MiniConfig, MiniSweAgent
from agentcompass.harnesses.oracle import Oracle, OracleConfig
from agentcompass.protocols import Session, SessionRequest
from agentcompass.records.environment import EnvironmentPlan
from agentcompass.records.task import RunResult
from tests.harnesses.seams import ScriptedModel, context, runs


@asynccontextmanager
async def opened() -> AsyncIterator[Session]:
    request = SessionRequest(
        plan=EnvironmentPlan(id="host_process"),
        run_id="r",
        task_id="t",
        attempt=1,
        cleanup=CleanupClock(grace_seconds=10),
    )
    session = await HostProcess(HostProcessConfig()).open(request)
    try:
        yield session
    finally:
        await session.aclose()


async def run(*commands: str, timeout: float = 60) -> list[Output]:
    async with opened() as session:
        shell = Shell(session=session, cwd=None, env={}, user=None, command_timeout=timeout)
        return [await shell.run(command) for command in commands]


@pytest.mark.parametrize(
    ("command", "output", "returncode"),
    [
        ("echo out; echo err >&2; echo out", "out\nerr\nout\n", 0),
        ("cat <<'E'\n$HOME\nE\nfalse", "$HOME\n", 1),
        ("# nothing", "", 0),
        ("", "", 0),
        ("\n\n  echo a &&\n  echo b", "a\nb\n", 0),
        ("exit 7", "", 7),
        ("cat", "", 0),
        ("kill -TERM $$", "", 143),
        ("echo $PAGER $LESS $PIP_PROGRESS_BAR", "cat -R off\n", 0),
        ("printf 'a\\0b'", "a\0b", 0),
        ("echo 'ä 😀'", "ä 😀\n", 0),
        ("x=1", "", 0),
        ("echo [$x]; cd /", "[]\n", 0),
    ],
)
async def test_a_command_is_one_stream_and_an_exit_code(command: str, output: str, returncode: int):
    (ended,) = await run(command)

    assert (ended.output, ended.returncode) == (output, returncode)
    assert ended.exception_info == ""


@pytest.mark.parametrize("command", ["if", ")", "echo 'open", "echo a\nif"])
async def test_what_the_shell_cannot_parse_is_told(command: str):
    (ended,) = await run(command)

    assert ended.returncode == 2
    assert "bash" in ended.output
    assert ended.output.startswith("a\n") is command.startswith("echo a")


async def test_the_shell_counts_lines_as_the_agent_wrote_them():
    (ended,) = await run("true\nno-such-program")

    assert "line 2: no-such-program: command not found" in ended.output
    assert ended.returncode == 127


async def test_each_command_has_a_new_shell_in_the_working_directory():
    first, second = await run("cd / && A=1 && touch /dev/null && pwd", "echo [$A]; ls /; pwd")

    assert first.output == "/\n"
    assert second.output.startswith("[]\n")
    assert second.output.splitlines()[-1] != "/"


async def test_a_command_larger_than_one_argument_can_be_is_run():
    """Row 47 of the cases: 1 MB in a here-document."""
    (ended,) = await run("cat > big <<'E'\n" + "x" * 1_000_000 + "\nE\nwc -c < big")

    assert (ended.output.strip(), ended.returncode) == ("1000001", 0)


async def test_a_command_that_runs_out_of_time_leaves_its_output_and_no_process():
    ended, after = await run("echo started; sleep 60 & sleep 60", "echo next", timeout=1)

    assert (ended.output, ended.returncode) == ("started\n", -1)
    assert "longer than 1 seconds" in ended.exception_info
    assert ended.seconds < 30
    assert after.output == "next\n"


async def test_the_sandbox_tells_what_it_is():
    async with opened() as session:
        shell = Shell(session=session, cwd=None, env={}, user=None, command_timeout=60)
        uname = await shell.uname()

    assert set(uname) == {"system", "release", "version", "machine"}
    assert uname["system"] == "Linux"


async def test_a_template_may_speak_of_the_sandbox():
    async with opened() as session:
        model = ScriptedModel([runs("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")])
        config = MiniConfig(system_template="on {{ system }} {{ machine }}: {{ version }}")
        result = RunResult(task_id="t")
        async with MiniSweAgent(config).start(session, context(model)) as agent:
            await agent.run(result)

    assert model.asked[0][0]["content"].startswith("on Linux ")
    assert result.final_answer == ""


async def test_oracle_runs_a_real_solution(tmp_path):
    (tmp_path / "solve.sh").write_text('cat "$(dirname "$0")/data" > "$APP_DIR/$NAME"; exit 4\n')
    (tmp_path / "data").write_text("solved")
    result = RunResult(task_id="t")
    given = context(solution_dir=str(tmp_path), solution_env={"NAME": "made"})
    async with opened() as session:
        async with Oracle(OracleConfig()).start(session, given) as agent:
            await agent.run(result)
        made = await session.read("/app/made")

    assert made == b"solved"
    assert result.issues[0].message == "solve.sh ended with exit code 4: it printed nothing"
