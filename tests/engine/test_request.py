"""One request, end to end on scripted components: what a person would try by hand."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from agentcompass.engine.request import Outcome
from agentcompass.engine.tree import run_job
from agentcompass.errors import RequestTimeout, StoreError, UsageError
from agentcompass.records.attempt import AttemptResult
from agentcompass.records.metrics import MetricContract, scalar_contract
from agentcompass.records.request import AttemptPlan
from agentcompass.records.task import TaskSpec
from tests.fakes import (
    MemoryStore,
    Script,
    Scripted,
    ScriptedBenchmark,
    ScriptedEnvironment,
    World,
    make_job,
)
from tests.virtual import on_virtual_time


def world_of(*scripts: Script, **task: Any) -> World:
    return World({"t": Scripted(task_id="t", scripts={1: list(scripts)}, **task)})


async def run(world: World, store: MemoryStore, **options: Any) -> Outcome:
    return await run_job(make_job(world, store, **options))


def phases(store: MemoryStore) -> list[str]:
    return [event.phase or "" for event in store.events if event.event == "phase_changed"]


def issues(result: AttemptResult) -> list[tuple[str, str, str]]:
    return [(issue.severity, issue.phase, issue.code) for issue in result.issues]


@on_virtual_time
async def test_the_phases_come_in_their_order() -> None:
    store = MemoryStore()
    outcome = await run(world_of(Script(), mode="fresh"), store)

    assert outcome.status == "completed"
    assert phases(store) == [
        "plan",
        "open_environment",
        "prepare_task",
        "start_harness",
        "run_harness",
        "collect_harness_result",
        "download_artifacts",
        "save_evaluation_checkpoint",
        "evaluate_environment",
        "evaluate",
    ]


@on_virtual_time
async def test_mode_reuse_scores_in_the_agents_session() -> None:
    world, store = world_of(Script(), mode="reuse"), MemoryStore()
    await run(world, store)

    assert world.opened == 1
    assert phases(store)[-1] == "evaluate"
    assert store.checkpoints == []


@on_virtual_time
async def test_an_agent_out_of_time_is_an_error_and_is_scored() -> None:
    world, store = world_of(Script(run_seconds=1000)), MemoryStore()
    outcome = await run(world, store, run_timeout_seconds=60.0, run_timer_compensation_seconds=20.0)

    assert trio.current_time() == 80
    assert issues(store.attempts["t", 1]) == [("error", "run", "run_failed")]
    assert store.attempts["t", 1].metrics == {"correct": True}
    assert outcome.status == "completed"


@on_virtual_time
async def test_the_verifiers_deadline_covers_scoring_alone() -> None:
    script = Script(open_seconds=2, score_seconds=0.2)
    world, store = world_of(script, mode="fresh"), MemoryStore()
    benchmark = ScriptedBenchmark(world, lay_out_seconds=3.0)
    await run(world, store, evaluation_timeout_seconds=1.0, benchmark=benchmark)

    assert store.attempts["t", 1].metrics == {"correct": True}
    assert [issue.severity for issue in store.attempts["t", 1].issues] == ["warning"]


@on_virtual_time
async def test_a_verifier_out_of_time_gives_no_metric() -> None:
    world, store = world_of(Script(score_seconds=9)), MemoryStore()
    outcome = await run(world, store, evaluation_timeout_seconds=1.0)

    assert issues(store.attempts["t", 1]) == [("error", "evaluate", "evaluate_failed")]
    assert store.attempts["t", 1].metrics == {}
    assert outcome.report.series[0].counts.unavailable == 1


@on_virtual_time
async def test_a_benchmark_may_say_what_a_timeout_means() -> None:
    world, store = world_of(Script(score_seconds=9)), MemoryStore()
    benchmark = ScriptedBenchmark(world, evaluation_timeout_metrics={"correct": False})
    await run(world, store, evaluation_timeout_seconds=1.0, benchmark=benchmark)

    assert store.attempts["t", 1].metrics == {"correct": False}


@on_virtual_time
async def test_scoring_is_retried_without_the_agent() -> None:
    world = world_of(Script(scoring="error"), mode="fresh")
    store = MemoryStore()
    await run(world, store, max_retries=2, retry_pattern_list=("no verdict",))

    assert (world.agent_runs["t", 1], world.scorings["t", 1]) == (1, 3)
    assert store.attempts["t", 1].retry_count == 2
    assert [detail.scope for detail in store.retries] == ["evaluate", "evaluate"]
    assert store.set_aside_attempts == []


@on_virtual_time
async def test_an_attempt_is_retried_in_a_fresh_environment() -> None:
    world, store = world_of(Script(agent="fatal"), Script()), MemoryStore()
    outcome = await run(world, store, max_retries=1)

    assert outcome.status == "completed"
    assert world.opened == world.closed == 2
    assert store.set_aside_attempts == [("t", 1)]
    assert issues(store.attempts["t", 1]) == []
    assert store.attempts["t", 1].retry_count == 1


@on_virtual_time
async def test_no_slot_is_held_during_a_back_off() -> None:
    world = World(
        {
            "a": Scripted(task_id="a", scripts={1: [Script(agent="fatal"), Script()]}),
            "b": Scripted(task_id="b", scripts={1: [Script(run_seconds=2)]}),
        }
    )
    store = MemoryStore()
    await run(world, store, slots=1, max_retries=1, retry_min_delay_seconds=10.0)
    done = [event.task_id for event in store.events if event.event == "task_finished"]

    assert done == ["b", "a"]


@on_virtual_time
async def test_a_bug_of_a_plugin_is_that_attempts_issue() -> None:
    world, store = world_of(Script(agent="bug")), MemoryStore()
    outcome = await run(world, store)
    result = store.attempts["t", 1]

    assert outcome.status == "failed"
    assert issues(result) == [("fatal", "run", "harness_failed")]
    assert "ZeroDivisionError" in result.artifacts["execution_diagnostics"]


@on_virtual_time
async def test_a_broken_row_costs_only_its_task() -> None:
    class Broken(ScriptedBenchmark):
        def load_tasks(self, data_dir: Any) -> Any:
            good, bad = super().load_tasks(data_dir)
            return [good, attrs.evolve(bad, fault="task.toml: agent.timeout_sec is text")]

    world = World({name: Scripted(task_id=name) for name in ("good", "bad")})
    store = MemoryStore()
    outcome = await run(world, store, benchmark=Broken(world), max_retries=3)

    assert issues(store.attempts["bad", 1]) == [("fatal", "setup", "task_invalid")]
    assert store.attempts["bad", 1].retry_count == 0
    assert store.attempts["good", 1].metrics == {"correct": True}
    assert outcome.status == "failed"
    assert world.opened == 1


@on_virtual_time
async def test_a_task_that_asks_for_what_the_provider_lacks_is_fatal_alone() -> None:
    from agentcompass.records.environment import Resources

    class Greedy(ScriptedBenchmark):
        def load_tasks(self, data_dir: Any) -> Any:
            plain, greedy = super().load_tasks(data_dir)
            return [plain, attrs.evolve(greedy, resources=Resources(gpu=8))]

    world = World({name: Scripted(task_id=name) for name in ("plain", "greedy")})
    store = MemoryStore()
    await run(world, store, benchmark=Greedy(world))

    assert issues(store.attempts["greedy", 1]) == [("fatal", "setup", "setup_failed")]
    assert "gpu" in store.attempts["greedy", 1].issues[0].message
    assert store.attempts["plain", 1].metrics == {"correct": True}


@on_virtual_time
async def test_a_timed_out_run_says_what_is_missing() -> None:
    world = World(
        {
            f"t{n}": Scripted(
                task_id=f"t{n}", scripts={1: [Script(run_seconds=1 if n < 4 else 99)]}
            )
            for n in range(10)
        }
    )
    store = MemoryStore()
    outcome = await run(world, store, timeout_seconds=10.0)
    series = outcome.report.series[0]

    assert outcome.status == "timed_out"
    assert outcome.error == "request deadline exceeded: 10 s"
    assert (series.counts.total, series.counts.evaluated) == (10, 4)
    assert series.extra["missing"] == 6
    assert series.extra["interval"] == [0.4, 1.0]
    assert "timed out" in store.summary
    assert set(store.interrupted) == {(f"t{n}", 1) for n in range(4, 10)}
    assert set(store.interrupted.values()) == {"run_harness"}


@on_virtual_time
async def test_a_close_that_hangs_frees_its_slot_after_the_grace() -> None:
    world = World(
        {
            f"t{n}": Scripted(
                task_id=f"t{n}", scripts={1: [Script(close_seconds=math.inf if n == 0 else 0)]}
            )
            for n in range(6)
        }
    )
    store = MemoryStore()
    outcome = await run(world, store, slots=1, cleanup_grace_seconds=1.0)

    assert outcome.status == "completed"
    assert issues(store.attempts["t0", 1]) == [("warning", "cleanup", "environment_failed")]
    assert trio.current_time() == 7


@on_virtual_time
async def test_cleanup_of_a_cancelled_request_shares_one_end() -> None:
    script = {1: [Script(run_seconds=99, close_seconds=math.inf)]}
    world = World({f"t{n}": Scripted(task_id=f"t{n}", scripts=script) for n in range(5)})
    store = MemoryStore()
    await run(world, store, timeout_seconds=10.0, cleanup_grace_seconds=3.0)

    assert trio.current_time() == 13
    assert store.status == "timed_out"


@on_virtual_time
async def test_a_result_that_cannot_be_written_fails_its_task() -> None:
    world = world_of(Script())
    store = MemoryStore(fails={"save_attempt": StoreError("result.json: no space left on device")})
    outcome = await run(world, store)

    assert outcome.status == "failed"
    assert outcome.report.series[0].counts.invalidated == 1
    finished = [event for event in store.events if event.event == "task_finished"]
    assert finished[0].status == "failed"
    assert not [event for event in store.events if event.event == "partial_saved"]


@pytest.mark.parametrize("step", ["write_metrics", "finish"])
@on_virtual_time
async def test_a_disk_that_fills_at_the_very_end_fails_the_run_and_keeps_its_numbers(
    step: str,
) -> None:
    store = MemoryStore(fails={step: StoreError("metrics.json: no space left on device")})
    outcome = await run(world_of(Script()), store)

    assert (outcome.status, outcome.error) == ("failed", "metrics.json: no space left on device")
    assert outcome.report.series[0].value == 1.0
    assert store.events[-1].event == "run_finished"
    assert store.events[-1].status == "failed"


@on_virtual_time
async def test_a_disk_that_hangs_at_the_very_end_is_waited_for_within_a_bound() -> None:
    class Hangs(MemoryStore):
        async def write_metrics(self, *_report: Any) -> None:
            await trio.sleep_forever()

    with pytest.raises(StoreError, match="metrics and summary were not written within 60 s"):
        await run(world_of(Script()), Hangs())

    assert trio.current_time() == 61


@pytest.mark.parametrize("k", [1, 2])
@on_virtual_time
async def test_pass_with_a_scalar_primary_is_refused_before_the_run(k: int) -> None:
    world, store = world_of(Script()), MemoryStore()
    benchmark = ScriptedBenchmark(world, contract=scalar_contract())
    with pytest.raises(UsageError, match="pass"):
        await run(world, store, benchmark=benchmark, attempts=AttemptPlan(k=k, strategy="pass"))

    assert store.events == []


@on_virtual_time
async def test_task_ids_that_occur_twice_are_refused_by_name() -> None:
    class Twice(ScriptedBenchmark):
        def load_tasks(self, data_dir: Any) -> Any:
            return [*super().load_tasks(data_dir)] * 2

    world = world_of(Script())
    with pytest.raises(UsageError, match="more than once: t"):
        await run(world, MemoryStore(), benchmark=Twice(world))


@on_virtual_time
async def test_a_run_without_tasks_completes_with_empty_metrics() -> None:
    store = MemoryStore()
    outcome = await run(World({}), store)

    assert outcome.status == "completed"
    assert outcome.report.series[0].value is None


@on_virtual_time
async def test_a_metric_that_is_not_declared_is_that_attempts_fault() -> None:
    class Odd(ScriptedBenchmark):
        async def evaluate(self, task: Any, prepared: Any, result: Any, *rest: Any) -> None:
            result.metrics["speed"] = 1.0

    world, store = world_of(Script()), MemoryStore()
    await run(world, store, benchmark=Odd(world))

    assert issues(store.attempts["t", 1]) == [("fatal", "evaluate", "metric_invalid")]
    assert store.attempts["t", 1].metrics == {}


@on_virtual_time
async def test_a_crash_of_the_store_is_recorded_and_passed_on() -> None:
    world = world_of(Script())
    store = MemoryStore(fails={"publish_task": RuntimeError("broken engine")})
    with pytest.raises(BaseException) as caught:
        await run(world, store)

    assert caught.group_contains(RuntimeError, match="broken engine")
    assert store.status == "failed"


@on_virtual_time
async def test_an_abandoned_provider_is_not_asked_again() -> None:
    """cases.md 9: a timed-out set-up is not run a second time while the first may still run."""
    world, store = world_of(Script(open_seconds=99)), MemoryStore()
    provider = ScriptedEnvironment(world, "P", sandbox_start_timeout=5.0)
    outcome = await run(world, store, providers=[provider])

    assert outcome.status == "failed"
    assert world.opens["P"] == [0.0]


@on_virtual_time
async def test_tasks_start_in_the_order_of_the_data_set() -> None:
    world = World({f"t{n}": Scripted(task_id=f"t{n}") for n in range(20)})
    store = MemoryStore()
    await run(world, store, slots=1)
    started = [event.task_id for event in store.events if event.event == "task_started"]

    assert started == [f"t{n}" for n in range(20)]


@on_virtual_time
async def test_a_fresh_verifier_that_got_nothing_says_so() -> None:
    world, store = world_of(Script(), mode="fresh"), MemoryStore()
    await run(world, store)

    assert issues(store.attempts["t", 1]) == [("warning", "evaluate", "nothing_restored")]


@on_virtual_time
async def test_a_scored_attempt_is_saved_though_the_run_is_cancelled_while_it_closes() -> None:
    """cases.md 20. Fails when the result is saved outside a shield."""
    world = world_of(Script(close_seconds=5), mode="reuse")
    store = MemoryStore()
    outcome = await run(world, store, timeout_seconds=3.0)

    assert outcome.status == "timed_out"
    assert store.attempts["t", 1].metrics == {"correct": True}
    assert store.published == {"t": ""}
    assert outcome.report.series[0].counts.evaluated == 1


@on_virtual_time
async def test_an_attempt_that_cannot_be_saved_leaves_the_others_alone() -> None:
    """cases.md 25. Fails when the StoreError leaves the nursery of the attempts."""

    class FirstFails(MemoryStore):
        async def save_attempt(self, header: Any, attempt: int, result: AttemptResult) -> None:
            if attempt == 1:
                raise StoreError("result.json: no space left on device")
            await super().save_attempt(header, attempt, result)

    slow = [Script(run_seconds=9)]
    world = World({"t": Scripted(task_id="t", scripts={1: [Script()], 2: slow})})
    store = FirstFails()
    outcome = await run(world, store, attempts=AttemptPlan(k=2))

    assert store.attempts["t", 2].metrics == {"correct": True}
    assert outcome.report.series[0].counts.invalidated == 1
    assert outcome.status == "failed"


@on_virtual_time
async def test_a_plugin_that_exits_ends_its_attempt_alone() -> None:
    class Exits(ScriptedBenchmark):
        async def evaluate(self, task: Any, *rest: Any) -> None:
            if task.task_id == "bad":
                raise SystemExit(3)
            await super().evaluate(task, *rest)

    world = World({name: Scripted(task_id=name) for name in ("bad", "good")})
    store = MemoryStore()
    outcome = await run(world, store, slots=1, benchmark=Exits(world))

    assert outcome.status == "completed"
    assert issues(store.attempts["bad", 1]) == [("error", "evaluate", "evaluate_failed")]
    assert "SystemExit" in store.attempts["bad", 1].issues[0].message
    assert store.attempts["good", 1].metrics == {"correct": True}


@on_virtual_time
async def test_what_is_measured_is_asked_once_and_holds_for_the_whole_run() -> None:
    """Fails where a `metric_contract` that raises at the end ends more than its attempts."""

    class Forgetful(ScriptedBenchmark):
        asked = 0

        def metric_contract(self) -> MetricContract:
            self.asked += 1
            if self.asked > 1:
                raise KeyError("the data are closed")
            return super().metric_contract()

    world, store = world_of(Script(), Script()), MemoryStore()
    outcome = await run(world, store, benchmark=Forgetful(world))

    assert (outcome.status, store.status) == ("completed", "completed")
    assert outcome.report.series[0].value == 1.0
    assert store.attempts["t", 1].metrics == {"correct": True}


@on_virtual_time
async def test_a_hierarchy_that_lacks_a_category_is_refused_before_the_run() -> None:
    """Fails where only the report after the last task finds it."""
    world, store = world_of(Script(), category="odd"), MemoryStore()
    tree = {"overall": {"children": {"even": {}}}}
    with pytest.raises(UsageError, match=r"no leaf for the categories \['odd'\]"):
        await run(world, store, benchmark=ScriptedBenchmark(world, category_hierarchy=tree))

    assert store.events == []


@on_virtual_time
async def test_a_report_that_cannot_be_made_leaves_no_run_without_an_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_given: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("agentcompass.engine.request.make_report", broken)
    store = MemoryStore()
    with pytest.raises(ZeroDivisionError):
        await run(world_of(Script()), store)

    assert store.status == "failed"
    assert (store.events[-1].event, store.events[-1].payload["error"]) == (
        *("run_finished", "ZeroDivisionError: a bug"),
    )


@on_virtual_time
async def test_out_of_time_before_it_is_known_what_is_measured_is_a_timeout() -> None:
    class Late(ScriptedBenchmark):
        def load_tasks(self, data_dir: Path) -> Sequence[TaskSpec]:
            raise AssertionError("never asked")

        def metric_contract(self) -> MetricContract:
            raise AttributeError("not loaded")

    world = world_of(Script())
    with pytest.raises(RequestTimeout, match="0 s, while tasks were loaded"):
        await run(world, MemoryStore(), benchmark=Late(world), timeout_seconds=0.0)
