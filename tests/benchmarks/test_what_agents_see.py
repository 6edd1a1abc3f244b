"""What a task's agent can and cannot see, on real processes with a real loop."""

import json
from pathlib import Path

import pytest

from tests.benchmarks.local_session import REWARD
from tests.loopback import serve
from tests.processes import alive, new_mark
from tests.whole_runs import run, runs, submits

ANSWER = "the-answer-is-4f2a91"
KEY = "sk-test-0123456789"
HOST_KEY = "host-secret-77aa31"


@pytest.fixture(autouse=True)
def no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("SOME_API_KEY", HOST_KEY)


TASK = {
    "instruction.md": "Find it.",
    "task.toml": '[environment.env]\nGIVEN = "a b"\n[verifier.env]\nEXPECTED = "' + ANSWER + '"\n',
    "environment/data.txt": "42\n",
    "solution/solve.sh": f"echo {ANSWER} > found",
    "tests/test.sh": f'grep -qx {ANSWER} found && r=1 || r=0\n[ "$EXPECTED" ] || r=0\n'
    + REWARD.format("$r"),
    "tests/expected.txt": ANSWER,
}


async def test_the_answer_is_nowhere_before_the_verifier_comes(tmp_path: Path) -> None:
    """cases.md 78: neither in a file of the session, a variable, nor in what the model is told."""
    look = f'grep -rlF "{ANSWER[:7]}""{ANSWER[7:]}" "$APP_DIR/.." && echo SEEN || echo NOT SEEN'
    async with serve(runs(f"env; {look}"), submits()) as server:
        ran = await run(
            tmp_path,
            {"t": TASK},
            harness="mini_swe_agent",
            model="m",
            model_base_url=server.url,
            model_api_key=KEY,
        )
    asked = [json.dumps(request.json()) for request in server.asked]
    told = server.asked[1].json()["messages"][-1]["content"]

    assert "NOT SEEN" in told
    assert ANSWER not in "".join(asked)
    assert ran.attempts["t"]["metrics"] == {"correct": False}


async def test_the_solution_is_scored_by_what_the_agent_could_not_see(tmp_path: Path) -> None:
    """cases.md 78: the same task is solved once the answer is written."""
    ran = await run(tmp_path, {"t": TASK})

    assert ran.attempts["t"]["metrics"] == {"correct": True}


async def test_variables_of_the_host_and_of_the_model_do_not_reach_commands(
    tmp_path: Path,
) -> None:
    """cases.md 49 and 77."""
    show = "cat /proc/self/environ | tr '\\0' '\\n'"
    async with serve(runs(show), submits()) as server:
        ran = await run(
            tmp_path,
            {"t": TASK},
            harness="mini_swe_agent",
            model="m",
            model_base_url=server.url,
            model_api_key=KEY,
        )
    told = server.asked[1].json()["messages"][-1]["content"]

    assert "GIVEN=a b" in told
    assert "EXPECTED" not in told
    for hidden in (KEY, HOST_KEY, server.url):
        assert hidden not in told
    assert ran.status == "completed"


async def test_what_ran_out_of_time_is_dead_before_the_verifier_looks(
    tmp_path: Path,
) -> None:
    """cases.md 11 and 18: a command that left its group as well."""
    mark = new_mark()
    beat = f": {mark}; while :; do echo >> beat; sleep 0.02; done"
    test = "a=$(wc -c < beat); sleep 0.3; [ $a = $(wc -c < beat) ] && r=1 || r=0\n"
    task = {"tests/test.sh": test + REWARD.format("$r")}
    async with serve(runs(f"setsid sh -c '{beat}' & {beat}"), submits()) as server:
        ran = await run(
            tmp_path,
            {"t": task},
            harness="mini_swe_agent",
            harness_params={"command_timeout": 0.5},
            model="m",
            model_base_url=server.url,
            model_api_key=KEY,
        )
    told = server.asked[1].json()["messages"][-1]["content"]

    assert "took longer than 0.5 seconds" in told
    assert ran.attempts["t"]["metrics"] == {"correct": True}
    assert alive(mark) == []
