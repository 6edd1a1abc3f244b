"""A fresh environment for the verifier: which limit each stretch of it counts against."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import trio

from agentcompass.engine.request import Outcome
from agentcompass.engine.tree import run_job
from agentcompass.environments.fake import ExecRule, FakeConfig, FakeEnvironment, FakeScript
from agentcompass.protocols import SessionRequest
from tests.fakes import MemoryStore, Scripted, ScriptedBenchmark, World, make_job
from tests.virtual import on_virtual_time

# An agent's session, with what the agent left for its verifier.
WORKED = FakeScript(files={"/logs/artifacts/work": "done"})


class Uploading(ScriptedBenchmark):
    """Lays its tests out by an upload, and scores by a command."""

    async def prepare_evaluation(self, task: Any, prepared: Any, plan: Any, session: Any) -> None:
        await session.write("/tests/test.sh", b"exit 0")

    async def evaluate(
        self, task: Any, prepared: Any, result: Any, plan: Any, session: Any
    ) -> None:
        await super().evaluate(task, prepared, result, plan, session)
        await session.exec("verify", timeout_seconds=plan.evaluation_timeout_seconds)


async def scored(
    store: MemoryStore, verifier: FakeScript, limits: Mapping[str, float], **options: Any
) -> tuple[World, Outcome]:
    """Run task `t`, with this script for its verifier's sessions alone."""
    world = World({"t": Scripted(task_id="t", provider="fake", mode="fresh")})

    def script_for(request: SessionRequest) -> FakeScript:
        return verifier if request.role == "verifier" else WORKED

    fake = FakeEnvironment(FakeConfig(**limits), script_for=script_for)
    job = make_job(world, store, providers=[fake], benchmark=Uploading(world), **options)
    return world, await run_job(job)


@on_virtual_time
async def test_the_verifiers_limit_pays_for_the_tests_alone(tmp_path: Path) -> None:
    """cases.md 1."""
    store = MemoryStore(directory=tmp_path)
    slow = FakeScript(
        open_seconds=2, operation_seconds=1, exec=(ExecRule(match="verify", seconds=0.2),)
    )
    limits = {"sandbox_start_timeout": 10.0, "operation_timeout": 5.0}
    await scored(store, slow, limits, evaluation_timeout_seconds=1.0)

    assert store.attempts["t", 1].issues == ()
    assert store.attempts["t", 1].metrics == {"correct": True}


@on_virtual_time
async def test_each_limit_that_ends_scoring_is_named(tmp_path: Path) -> None:
    """cases.md 1."""
    hung = {
        "sandbox start for task": FakeScript(hangs=("open",)),
        "write operation timeout": FakeScript(hangs=("write",)),
        "evaluate timeout": FakeScript(hangs=("exec",), ignores_timeouts=True),
    }
    limits = {"sandbox_start_timeout": 10.0, "operation_timeout": 5.0}
    for name, script in hung.items():
        store = MemoryStore(directory=tmp_path / name)
        with trio.fail_after(1000):
            await scored(store, script, limits, evaluation_timeout_seconds=1.0)
        [issue] = store.attempts["t", 1].issues

        assert issue.phase == "evaluate"
        assert name in issue.message
        assert store.attempts["t", 1].metrics == {}


@on_virtual_time
async def test_a_verifier_that_cannot_start_is_tried_again_without_the_agent(
    tmp_path: Path,
) -> None:
    """cases.md 36: the agent's work stays."""
    store = MemoryStore(directory=tmp_path)
    broken = FakeScript(fails={"open": "no room"}, fail_times=1)
    world, outcome = await scored(store, broken, {}, max_retries=1)

    assert outcome.status == "completed"
    assert [detail.scope for detail in store.retries] == ["evaluate"]
    assert store.retries[0].issues[0].severity == "fatal"
    assert store.retries[0].issues[0].phase == "evaluate"
    assert world.agent_runs["t", 1] == 1
    assert store.attempts["t", 1].metrics == {"correct": True}
