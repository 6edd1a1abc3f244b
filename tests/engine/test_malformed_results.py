"""What is left in a result that is not of its kind costs that attempt, and no other."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import attrs
import pytest

from agentcompass.engine.tree import run_job
from agentcompass.errors import EvaluationFailed
from agentcompass.records.issue import Issue
from agentcompass.records.task import RunResult
from tests.fakes import (
    MemoryStore,
    Scripted,
    ScriptedAgent,
    ScriptedBenchmark,
    ScriptedHarness,
    World,
    make_job,
)
from tests.virtual import on_virtual_time


def put(field: str, value: Any) -> Callable[[RunResult], None]:
    return lambda result: setattr(result, field, value)


def odd_issue(**fields: Any) -> Callable[[RunResult], None]:
    given = {"severity": "error", "phase": "run", "code": "c", "message": "m", **fields}
    return lambda result: result.add_issue(Issue(**given))


WRONG: dict[str, Callable[[RunResult], None]] = {
    "issues of text": lambda result: result.issues.append("x"),  # type: ignore[arg-type]
    "no issues": put("issues", None),
    "severity": odd_issue(severity="critical"),
    "phase": odd_issue(phase="later"),
    "message": odd_issue(message=5),
    "metrics": put("metrics", None),
    "extra": put("extra", None),
    "artifacts": put("artifacts", []),
    "telemetry": put("telemetry", 1),
    "meta": put("meta", [1]),
    "trajectory": put("trajectory", "steps"),
    "status": put("status", "fine"),
}


@attrs.define(eq=False)
class Agent(ScriptedAgent):
    spoil: Callable[[RunResult], None] = put("meta", None)

    async def run(self, result: RunResult) -> None:
        await super().run(result)
        if self.context.task.task_id == "bad":
            self.spoil(result)


@pytest.mark.parametrize("mode", ["none", "reuse"])
@pytest.mark.parametrize("wrong", WRONG)
@on_virtual_time
async def test_of_an_agent(wrong: str, mode: Any) -> None:
    world, store = World({n: Scripted(task_id=n, mode=mode) for n in ("bad", "ok")}), MemoryStore()

    class Harness(ScriptedHarness):
        def start(self, session: Any, context: Any) -> Any:
            return nullcontext(Agent(world, context, WRONG[wrong]))

    outcome = await run_job(attrs.evolve(make_job(world, store), harness=Harness(world)))
    bad = store.attempts["bad", 1]
    assert outcome.status == "failed"
    assert [(i.severity, i.code) for i in bad.issues] == [("fatal", "harness_failed")]
    assert bad.metrics == {}
    assert store.attempts["ok", 1].metrics == {"correct": True}


class Scorer(ScriptedBenchmark):
    """Gives a verdict, and then does to the result of task `bad` what it is told."""

    spoil: Callable[[RunResult], None]

    async def evaluate(self, task: Any, prepared: Any, result: Any, *rest: Any) -> None:
        await super().evaluate(task, prepared, result, *rest)
        if task.task_id == "bad":
            self.spoil(result)


async def score(spoil: Callable[[RunResult], None]) -> MemoryStore:
    world, store = World({name: Scripted(task_id=name) for name in ("bad", "ok")}), MemoryStore()
    benchmark = Scorer(world)
    benchmark.spoil = spoil
    await run_job(make_job(world, store, benchmark=benchmark))
    assert store.attempts["ok", 1].metrics == {"correct": True}
    return store


@pytest.mark.parametrize("wrong", WRONG)
@on_virtual_time
async def test_of_a_scorer(wrong: str) -> None:
    bad = (await score(WRONG[wrong])).attempts["bad", 1]
    assert bad.metrics == {}
    assert bad.issues[-1].phase == "evaluate"
    assert bad.issues[-1].severity != "warning"


def no_verdict(_: RunResult) -> None:
    raise EvaluationFailed("HTTP 504")


def bug(_: RunResult) -> None:
    raise ZeroDivisionError


@pytest.mark.parametrize("broken", [no_verdict, bug])
@on_virtual_time
async def test_a_scorer_that_breaks_off_after_a_metric_gives_no_verdict(
    broken: Callable[[RunResult], None],
) -> None:
    bad = (await score(broken)).attempts["bad", 1]
    assert bad.metrics == {}
    assert bad.status == "eval_error"
