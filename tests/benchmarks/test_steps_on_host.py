"""Steps, health checks and separate verifiers through the engine, on processes of this host."""

import pytest

from tests.benchmarks.local_session import REWARD
from tests.whole_runs import run

TOML = """
artifacts = [{source = "/app/one", destination = "one"}]
[[steps]]
name = "one"
min_reward = 1
[[steps]]
name = "two"
healthcheck = {command = "test -e one"}
"""
IF = "test -e {} && r=1 || r=0\n"
STEPS = {
    "task.toml": TOML,
    "instruction.md": None,
    "tests/test.sh": None,
    "solution/solve.sh": "exit 3",
    "steps/one/instruction.md": "make one",
    "steps/one/tests/test.sh": IF.format("one") + REWARD.format("$r"),
    "steps/one/solution/solve.sh": "touch one",
    "steps/two/instruction.md": "make two",
    "steps/two/tests/test.sh": IF.format("two") + REWARD.format("$r"),
    "steps/two/solution/solve.sh": "touch two",
}
APART = {
    "task.toml": """
artifacts = ["/app/made"]
[verifier.environment]
healthcheck = {command = "test ! -e left"}
env = {WHERE = "apart"}
""",
    "solution/solve.sh": "touch made left",
    "tests/test.sh": '[ -e made ] && [ ! -e left ] && [ "$WHERE" = apart ] && r=1 || r=0\n'
    + REWARD.format("$r"),
}
SICK = {
    "task.toml": '[environment.healthcheck]\ncommand = "echo down; false"\nretries = 1',
}


@pytest.mark.parametrize(("harness", "correct"), [("oracle", True), ("nop", False)])
async def test_steps_and_separate_verifiers_are_scored_as_a_run_has_them(
    tmp_path, harness, correct
):
    ran = await run(tmp_path, {"steps": STEPS, "apart": APART, "sick": SICK}, harness)

    for name in ("steps", "apart"):
        assert ran.attempts[name]["metrics"] == {"correct": correct}
    steps = ran.attempts["steps"]["meta"]["benchmark"]["steps"]
    assert [step["name"] for step in steps] == ["one", "two"][: 1 + correct]
    assert ran.issues("sick") == [("fatal", "setup", "setup_failed")]
