"""What a plug-in raises or leaves out is its attempt's issue; only what ends the run passes."""

import os
import signal
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from agentcompass.engine.request import Outcome
from agentcompass.engine.tree import run_job
from agentcompass.errors import HarnessFailed
from agentcompass.records.attempt import AttemptResult
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
from tests.whole_runs import on_disk, read


class OddExit(BaseException):
    """What some libraries use to leave."""


async def stray_cancellation() -> None:
    """What a plug-in raises that keeps an old cancellation and raises it again."""
    kept: list[BaseException] = []
    with trio.CancelScope() as scope:
        scope.cancel()
        try:
            await trio.lowlevel.checkpoint()
        except trio.Cancelled as error:
            kept.append(error)
            raise
    raise kept[0]


async def odd_exit() -> None:
    raise OddExit("out of here")


async def own_interrupt() -> None:
    raise KeyboardInterrupt


async def odd_exit_in_a_nursery() -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep_forever)
        nursery.start_soon(odd_exit)


FAULTS: dict[str, tuple[Callable[[], Any], str]] = {
    "cancelled": (stray_cancellation, "Cancelled"),
    "base": (odd_exit, "OddExit: out of here"),
    "interrupt": (own_interrupt, "KeyboardInterrupt"),
    "group": (odd_exit_in_a_nursery, "OddExit: out of here"),
}


@attrs.define(eq=False)
class Misbehaves(ScriptedAgent):
    """Does in task `bad` what it is told, and its work in the others."""

    async def run(self, result: RunResult) -> None:
        result.extra["attempt"] = self.context.attempt
        if self.context.task.task_id == "bad":
            await self.fault()
        await super().run(result)

    fault: Callable[[], Any] = odd_exit


def issues(result: AttemptResult) -> list[tuple[str, str, str]]:
    return [(issue.severity, issue.phase, issue.code) for issue in result.issues]


def job_with(store: MemoryStore, fault: Callable[[], Any], **options: Any) -> Any:
    world = World({name: Scripted(task_id=name) for name in ("bad", "good")})

    class Harness(ScriptedHarness):
        def start(self, session: Any, context: Any) -> Any:
            return nullcontext(Misbehaves(world, context, fault))

    return attrs.evolve(make_job(world, store, **options), harness=Harness(world))


async def run_benchmark(benchmark: type[ScriptedBenchmark], **options: Any) -> MemoryStore:
    world, store = World({"t": Scripted(task_id="t")}), MemoryStore()
    await run_job(make_job(world, store, benchmark=benchmark(world), **options))
    return store


@pytest.mark.parametrize("fault", FAULTS)
@on_virtual_time
async def test_what_a_plugin_raises_is_that_attempts_fatal_issue(fault: str) -> None:
    store = MemoryStore()
    raises, message = FAULTS[fault]
    outcome: Outcome = await run_job(job_with(store, raises))

    assert outcome.status == "failed"
    assert issues(store.attempts["bad", 1]) == [("fatal", "run", "harness_failed")]
    assert message in store.attempts["bad", 1].issues[0].message
    assert store.attempts["good", 1].metrics == {"correct": True}


@on_virtual_time
async def test_a_value_that_json_cannot_hold_costs_itself_alone(tmp_path: Path) -> None:
    """cases.md 25 and 26: in what the agent left and in what scoring adds, before the checkpoint
    too."""

    class Odd(ScriptedBenchmark):
        async def evaluate(self, task: Any, prepared: Any, result: Any, *rest: Any) -> None:
            await super().evaluate(task, prepared, result, *rest)
            result.extra["score"] = float("nan")
            result.artifacts["handle"] = object()

        def load_tasks(self, data_dir: Any) -> Any:
            return [attrs.evolve(t, ground_truth=1j) for t in super().load_tasks(data_dir)]

    world = World({"t": Scripted(task_id="t")})
    job = make_job(world, MemoryStore(), benchmark=Odd(world))
    outcome = await run_job(on_disk(job, tmp_path))
    [path] = tmp_path.rglob("result.json")
    result = read(path)
    [issue] = result["issues"]

    assert outcome.status == "completed"
    assert result["metrics"] == {"correct": True}
    assert (issue["severity"], issue["code"]) == ("warning", "value_not_json")
    assert "artifacts.handle" in issue["message"]
    assert "meta.benchmark.score" in issue["message"]
    assert result["meta"]["benchmark"] == {"attempt": 1, "score": "nan"}
    assert read(path.parents[1] / "task.json")["ground_truth"] == "1j"


async def fails_when_cancelled() -> None:
    """A child that answers a cancellation with an error, beside one that passes it on."""

    async def protests() -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise HarnessFailed("do not disturb")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep_forever)
        nursery.start_soon(protests)


@on_virtual_time
async def test_a_plugin_that_fails_under_a_cancellation_does_not_change_how_the_run_ends() -> None:
    store = MemoryStore()
    outcome = await run_job(job_with(store, fails_when_cancelled, timeout_seconds=5.0))

    assert outcome.status == "timed_out"
    assert set(store.interrupted) == {("bad", 1)}
    assert store.attempts["good", 1].metrics == {"correct": True}


async def test_the_users_interrupt_ends_the_run() -> None:
    """Fails when every KeyboardInterrupt is taken for a plug-in's."""

    def the_user(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    async def is_interrupted() -> None:
        os.kill(os.getpid(), signal.SIGINT)

    store = MemoryStore()
    before = signal.signal(signal.SIGINT, the_user)
    try:
        with pytest.raises(BaseException) as caught:
            await run_job(job_with(store, is_interrupted))
    finally:
        signal.signal(signal.SIGINT, before)

    assert caught.group_contains(KeyboardInterrupt)
    assert store.status == "cancelled"


class Unsure(ScriptedBenchmark):
    async def evaluate(self, task: Any, prepared: Any, result: Any, *rest: Any) -> None:
        self.world.scorings["t", 1] = self.world.scorings.get(("t", 1), 0) + 1


class Skips(ScriptedBenchmark):
    async def evaluate(self, task: Any, prepared: Any, result: Any, *rest: Any) -> None:
        result.status = "skipped"


@on_virtual_time
async def test_scoring_that_leaves_out_the_primary_metric_is_an_error() -> None:
    store = await run_benchmark(Unsure)
    result = store.attempts["t", 1]

    assert issues(result) == [("error", "evaluate", "metric_missing")]
    assert "'correct'" in result.issues[0].message
    assert result.status == "eval_error"
    assert store.report is not None
    counts = store.report.series[0].counts
    assert (counts.evaluated, counts.error, counts.unavailable) == (0, 1, 1)


@on_virtual_time
async def test_a_missing_metric_is_scored_again_where_a_pattern_says_so() -> None:
    store = await run_benchmark(Unsure, max_retries=1, retry_pattern_list=("metric_missing",))

    assert [detail.scope for detail in store.retries] == ["evaluate"]


@on_virtual_time
async def test_a_skipped_attempt_needs_no_metric() -> None:
    store = await run_benchmark(Skips)
    result = store.attempts["t", 1]

    assert (issues(result), result.status) == ([], "skipped")
    assert store.report is not None
    counts = store.report.series[0].counts
    assert (counts.error, counts.unavailable) == (0, 1)


@on_virtual_time
async def test_a_mode_in_which_a_task_cannot_be_scored_is_refused_before_anything_opens() -> None:
    class InSessions(ScriptedBenchmark):
        evaluation_modes = frozenset({"reuse"})

    world = World({"bad": Scripted(task_id="bad"), "good": Scripted(task_id="good", mode="reuse")})
    store = MemoryStore()
    await run_job(make_job(world, store, benchmark=InSessions(world)))

    assert issues(store.attempts["bad", 1]) == [("fatal", "setup", "task_invalid")]
    assert "evaluation_mode none; known: reuse" in store.attempts["bad", 1].issues[0].message
    assert store.attempts["good", 1].metrics == {"correct": True}
    assert world.opened == 1


@on_virtual_time
async def test_metrics_that_scoring_never_checked_cost_the_attempt_alone() -> None:
    class Notes(ScriptedBenchmark):
        async def prepare_evaluation(self, *args: Any) -> None: ...

        async def evaluate(self, task: Any, prepared: Any, result: Any, *rest: Any) -> None:
            result.metrics["correct"] = "good"
            raise ValueError("and then it broke")

    store = await run_benchmark(Notes)

    assert store.attempts["t", 1].metrics == {}
