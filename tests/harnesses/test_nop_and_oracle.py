"""The floor and the ceiling of a benchmark."""

import math
from pathlib import Path

import pytest

from agentcompass.errors import HarnessFailed
from agentcompass.harnesses.nop import Nop, NopConfig
from agentcompass.harnesses.oracle import Oracle, OracleConfig
from agentcompass.records.environment import ExecResult
from tests.harnesses.seams import ScriptedSession, context, drive


async def test_nop_touches_nothing():
    session = ScriptedSession()

    result = await drive(Nop(NopConfig()), session, context())

    assert (result.status, result.final_answer, result.issues) == ("completed", None, [])
    assert (session.asked, session.uploads) == ([], [])


async def oracle(answer: ExecResult, **metadata: object):
    session = ScriptedSession(answer=lambda _: answer)
    result = await drive(Oracle(OracleConfig()), session, context(**metadata))
    return session, result


async def test_oracle_runs_the_solution_with_its_variables_and_no_deadline_of_its_own():
    session, result = await oracle(
        ExecResult(exit_code=0, stdout="done\n", seconds=2.5),
        solution_dir="/host/solution",
        solution_env={"KEY": "v"},
        agent_user="dev",
    )

    assert session.uploads == [(Path("/host/solution"), "/solution")]
    command, options = session.asked[0]
    assert command == 'bash "${SOLUTION_DIR:-/solution}/solve.sh"'
    assert options == {"env": {"KEY": "v"}, "timeout_seconds": math.inf, "user": "dev"}
    assert result.issues == []
    assert result.artifacts["solution"]["stdout"] == "done\n"
    assert result.telemetry["env_seconds"] == 2.5


async def test_a_solution_of_texts_is_written_where_a_folder_would_be():
    texts = {"solve.sh": "git apply é", "reference.patch": ""}
    session, result = await oracle(ExecResult(exit_code=0), solution_files=texts)

    assert session.files == {
        "/solution/solve.sh": "git apply é".encode(),
        "/solution/reference.patch": b"",
    }
    assert len(session.asked) == 1
    assert result.issues == []


async def test_a_solution_that_fails_is_an_error_with_the_end_of_its_output():
    _, result = await oracle(
        ExecResult(exit_code=3, stdout="out", stderr="x" * 5000 + "no such file\n"),
        solution_dir="/s",
    )

    (issue,) = result.issues
    assert (issue.severity, issue.phase, issue.code) == ("error", "run", "harness_failed")
    assert issue.message.startswith("solve.sh ended with exit code 3: xxx")
    assert issue.message.endswith("no such file")
    assert len(issue.message) < 1100


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        (ExecResult(exit_code=1), "ended with exit code 1: it printed nothing"),
        (ExecResult(exit_code=1, stdout="only here"), "ended with exit code 1: only here"),
        (ExecResult(exit_code=None, timed_out=True, stdout="half"), "ran out of time: half"),
    ],
)
async def test_the_issue_says_what_is_known(ended: ExecResult, said: str):
    _, result = await oracle(ended, solution_dir="/s")

    assert result.issues[0].message == f"solve.sh {said}"


async def test_a_task_without_a_solution_is_named():
    with pytest.raises(HarnessFailed, match="task 't' has no solution folder") as caught:
        await oracle(ExecResult(exit_code=0))

    assert caught.value.severity == "fatal"
