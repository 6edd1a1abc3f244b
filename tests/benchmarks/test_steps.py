"""A task of several steps: one agent after the other, each scored before the next one begins."""

from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import pytest
import trio

from agentcompass.benchmarks._steps import combined, steps_of
from agentcompass.errors import EvaluationFailed, HarnessFailed, TaskInvalid
from agentcompass.protocols import AgentContext
from agentcompass.records.environment import NetworkPolicy
from tests.benchmarks.local_session import REWARD, Attempt, a_plan

TOML = """
[agent]
user = "dev"
[verifier]
env = {A = "task", B = "task"}
[[steps]]
name = "one"
min_reward = 0.5
[steps.agent]
timeout_sec = 20
[steps.verifier]
timeout_sec = 30
[[steps]]
name = "two"
[steps.agent]
timeout_sec = 40
user = "other"
[steps.verifier]
env = {B = "step"}
"""
# Each step is solved where the agent has said its name.
SCORE = 'grep -qx {0} said && r=1 || r=0; echo "$A $B" > env-{0}\n' + REWARD


def scoring(step):
    return SCORE.replace("{0}", step).format("$r")


FILES = {
    "task.toml": TOML,
    "instruction.md": None,
    "tests/test.sh": None,
    "steps/one/instruction.md": "say one",
    "steps/one/tests/test.sh": scoring("one"),
    "steps/two/instruction.md": "say two",
    "steps/two/tests/test.sh": scoring("two"),
}


class Says:
    """A harness whose agents do what they are told, and note what they saw."""

    def __init__(self, *, does=None):
        self.seen = []
        self.closed = 0
        self.does = does

    @asynccontextmanager
    async def start(self, session, context):
        yield SaysAgent(self, session, context)
        self.closed += 1


@attrs.frozen
class SaysAgent:
    harness: Says
    session: object
    context: AgentContext

    async def run(self, result):
        prompt = self.context.prepared.input.prompt
        self.harness.seen.append((prompt, self.session.files()))
        result.telemetry["calls"] = 1
        result.trajectory = {"started_at": prompt, "steps": [{"step_id": 0, "said": prompt}]}
        if self.harness.does is not None:
            await self.harness.does(prompt, self.session)
        self.session.shell(f"echo {prompt.split()[1]} >> said")

    async def collect(self, result):
        result.artifacts["user"] = self.context.task.metadata["agent_user"]


class Stepped(Attempt):
    """An attempt that goes through the agent as well."""

    async def work(self, harness, **plan):
        prepared = await self.prepare()
        context = AgentContext(
            task=self.task,
            prepared=prepared,
            attempt=1,
            plan=a_plan(**{"run_timeout_seconds": self.task.run_timeout_seconds, **plan}),
            conversation=None,
        )
        async with self.benchmark.start_agent(harness, self.session, context) as agent:
            await agent.run(self.result)
            await agent.collect(self.result)
        await self.score(prepared)


async def test_the_steps_follow_each_other_and_each_is_scored(tmp_path):
    attempt, harness = Stepped(tmp_path, FILES), Says()

    await attempt.work(harness)

    assert [prompt for prompt, _ in harness.seen] == ["say one", "say two"]
    assert harness.closed == 2
    assert attempt.result.metrics == {"correct": True}
    assert attempt.result.extra["steps"] == [
        {"name": "one", "rewards": {"reward": 1.0}},
        {"name": "two", "rewards": {"reward": 1.0}},
    ]
    assert set(attempt.result.artifacts["verifiers"]) == {"one", "two"}
    assert attempt.result.artifacts["steps"] == {"one": {"user": "dev"}, "two": {"user": "other"}}
    assert attempt.result.telemetry == {"calls": 2}
    assert attempt.result.trajectory == {
        "started_at": "say one",
        "steps": [{"step_id": 0, "said": "say one"}, {"step_id": 1, "said": "say two"}],
    }
    app = Path(attempt.session.workdir)
    assert (app / "env-one").read_text() == "task task\n"
    assert (app / "env-two").read_text() == "task step\n"


async def test_no_step_sees_tests_or_solutions_of_another(tmp_path):
    """Fails where the tests of a step are left for the agent of the next."""
    files = {**FILES, "steps/one/solution/solve.sh": "", "steps/two/workdir/later": ""}
    attempt, harness = Stepped(tmp_path, files), Says(does=leave_a_solution)

    await attempt.work(harness)

    (_, first), (_, second) = harness.seen
    assert first == set()
    assert second == {"app/said", "app/env-one", "app/later"}


async def leave_a_solution(_prompt, session):
    session.shell("mkdir -p $SOLUTION_DIR && touch $SOLUTION_DIR/solve.sh")


async def test_a_step_that_does_not_reach_its_reward_is_the_last(tmp_path):
    files = {**FILES, "steps/one/tests/test.sh": REWARD.format("0.4")}
    attempt, harness = Stepped(tmp_path, files, metric="score"), Says()

    await attempt.work(harness)

    assert len(harness.seen) == 1
    assert attempt.result.metrics == {"score": 0.4}


async def test_an_agent_that_fails_is_scored_and_its_issue_names_the_step(tmp_path):
    async def fail(_prompt, _session):
        raise HarnessFailed("lost", severity="error")

    attempt = Stepped(tmp_path, FILES)

    await attempt.work(Says(does=fail))

    assert attempt.result.metrics == {"correct": False}
    (issue,) = attempt.result.issues
    assert (issue.severity, issue.phase, issue.message) == ("error", "run", "step 'one': lost")


async def test_a_fatal_fault_of_an_agent_ends_the_attempt(tmp_path):
    async def fail(_prompt, _session):
        raise HarnessFailed("lost")

    with pytest.raises(HarnessFailed, match="lost"):
        await Stepped(tmp_path, FILES).work(Says(does=fail))


async def test_each_step_has_its_own_time_as_far_as_the_run_is_stretched(tmp_path):
    """The limit of the run is that of 20 + 30 + 40 + 600 s; a hundredth of it is asked for."""

    async def hang(prompt, _session):
        if prompt == "say one":
            await trio.sleep_forever()

    attempt = Stepped(tmp_path, FILES)
    assert attempt.task.run_timeout_seconds == 690

    await attempt.work(Says(does=hang), run_timeout_seconds=6.9)

    (issue,) = attempt.result.issues
    assert "run_harness of step 'one' timeout: exceeded 0.2 s" in issue.message
    assert attempt.result.metrics == {"correct": False}


async def test_a_step_without_a_verdict_leaves_the_task_without_one(tmp_path):
    attempt = Stepped(tmp_path, {**FILES, "steps/two/tests/test.sh": "exit 0"})
    with pytest.raises(EvaluationFailed, match="left neither"):
        await attempt.work(Says())

    with pytest.raises(EvaluationFailed, match="step 'two' was not scored") as caught:
        await attempt.score(await attempt.prepare())

    assert caught.value.code == "step_not_scored"
    assert attempt.result.metrics == {}


async def test_steps_cannot_be_scored_in_a_fresh_session(tmp_path):
    attempt = Stepped(tmp_path, FILES)

    with pytest.raises(TaskInvalid, match="evaluation_mode fresh cannot be had"):
        await attempt.benchmark.prepare_task(
            attempt.task, attempt.session, a_plan(evaluation_mode="fresh")
        )


async def test_the_network_of_the_verifier_ends_with_it(tmp_path):
    attempt = Stepped(tmp_path, FILES)
    closed = NetworkPolicy(network_mode="no-network")
    await attempt.work(Says(), run_network_policy=closed)

    assert attempt.session.policies == ["public", "no-network"] * 2


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        ({"steps/one/instruction.md": None}, "steps/one/instruction.md is missing"),
        (
            {"steps/two/tests/test.sh": None},
            "steps/two/tests/test.sh and tests/test.sh are missing",
        ),
        ({"steps/two/trajectory.json": "{}"}, "steps/two/trajectory.json (a conversation"),
        ({"task.toml": f'{TOML}environment_mode = "separate"'}, "a separate verifier in a task of"),
        ({"task.toml": f'{TOML}network_mode = "no-network"'}, "a network mode of a single step"),
        ({"task.toml": TOML.replace('"step"', '"${NO_SUCH}"')}, "steps.two.verifier.env: the env"),
        ({"task.toml": TOML.replace('"two"', '"ONE"')}, "there is more than one step 'one'"),
        ({"task.toml": TOML.replace('"two"', '"../x"')}, "cannot be the name of a folder"),
        ({"task.toml": TOML.replace("= 0.5", "= true")}, "min_reward: expected an object"),
    ],
)
def test_what_a_step_lacks_is_the_tasks_fault(tmp_path, files, fault):
    assert fault in Stepped(tmp_path, {**FILES, **files}).task.fault


def test_the_steps_of_a_task_survive_being_written_down(tmp_path):
    toml = f'{TOML}[[steps.verifier.collect]]\ncommand = "c"'
    attempt = Stepped(tmp_path, {**FILES, "task.toml": toml})

    steps = steps_of(attempt.task)

    assert [step.record for step in steps] == list(attempt.task.metadata["steps"])
    assert steps[1].collect[0].command == "c"


@pytest.mark.parametrize(
    ("strategy", "rewards"),
    [("mean", {"reward": 0.5, "style": 0.25}), ("final", {"reward": 0.0})],
)
def test_the_rewards_of_a_task_are_the_mean_of_its_steps_or_those_of_the_last(strategy, rewards):
    assert combined([{"reward": 1.0, "style": 0.5}, {"reward": 0.0}], strategy) == rewards


def test_all_instructions_are_in_the_record_of_the_task(tmp_path):
    task = Stepped(tmp_path, FILES).task

    assert task.instruction == "Step one:\n\nsay one\n\nStep two:\n\nsay two"


def test_a_shared_test_script_serves_the_steps_that_have_none(tmp_path):
    files = {**FILES, "steps/two/tests/test.sh": None, "tests/test.sh": ""}
    task = Stepped(tmp_path, files).task

    assert task.fault is None
    assert [len(step.tests_dirs) for step in steps_of(task)] == [2, 1]
