"""Several requests on one pool of slots: who runs when, and how each of them ends."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.engine.job import Job
from agentcompass.engine.limits import Limits, provider_limiter, set_provider_limits
from agentcompass.engine.lines import Tokens
from agentcompass.engine.orchestration import run_orchestration
from agentcompass.errors import RequestFailed, RequestTimeout, StoreError, UsageError
from agentcompass.evaluating import run_to_result
from agentcompass.records.orchestration import RequestOutcome, overall
from agentcompass.store.redact import Redactor
from tests import virtual
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

Seconds = Sequence[float]


@attrs.define(eq=False)
class Stage:
    """Requests by name, each with tasks that take so many seconds; who ran from when to when."""

    slots: float = 3
    timeout_seconds: float | None = None
    provider_limits: Mapping[str, int | None] = attrs.field(factory=dict)
    jobs: list[Job] = attrs.field(factory=list)
    stores: dict[str, MemoryStore] = attrs.field(factory=dict)
    worlds: dict[str, World] = attrs.field(factory=dict)
    trace: list[tuple[float, str, str]] = attrs.field(factory=list)
    told: list[RequestOutcome] = attrs.field(factory=list)
    limiter: Tokens = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.limiter = Tokens(self.slots)

    def add(self, name: str, seconds: Seconds, *, provider: str = "P", **options: Any) -> None:
        tasks = {
            f"{name}{number}": Scripted(
                task_id=f"{name}{number}",
                scripts={1: [Script(run_seconds=length)]},
                provider=provider,
            )
            for number, length in enumerate(seconds)
        }
        self.add_world(name, World(tasks), provider=provider, **options)

    def add_world(self, name: str, world: World, *, provider: str = "P", **options: Any) -> None:
        store = self.stores[name] = MemoryStore()
        self.worlds[name] = world
        job = make_job(
            world,
            store,
            provider_limits=self.provider_limits,
            timeout_seconds=self.timeout_seconds,
            providers=[ScriptedEnvironment(world, provider)],
            **options,
        )
        index = len(self.jobs)
        place = {"orchestration_id": "o", "request_key": f"o/{index}"}
        metadata = {**place, "request_name": name, "request_index": index}
        self.jobs.append(
            attrs.evolve(
                job,
                request=attrs.evolve(job.request, metadata=metadata),
                limits=Limits(self.limiter),
                reporters=[self._note],
            )
        )

    def _note(self, event: Any) -> None:
        if event.event in ("task_started", "task_finished"):
            self.trace.append((trio.current_time(), event.event, event.task_id))

    async def run(self, level: Any = run_to_result) -> dict[str, RequestOutcome]:
        outcomes = await run_orchestration(self.jobs, level, ended=self.told.append)
        return {outcome.name: outcome for outcome in outcomes}

    def at(self, event: str) -> dict[str, float]:
        return {task: time for time, name, task in self.trace if name == event}


@on_virtual_time
async def test_two_requests_share_three_slots() -> None:
    """Seed 003: the limit is of all requests together. Fails where each has slots of its own."""
    stage = Stage(slots=3)
    stage.add("a", [10, 10, 10, 10])
    stage.add("b", [10, 10, 10])
    outcomes = await stage.run()

    assert {name: outcome.status for name, outcome in outcomes.items()} == {
        "a": "completed",
        "b": "completed",
    }
    assert stage.at("task_started") == {
        "a0": 0, "a1": 0, "a2": 0,
        "a3": 10, "b0": 10, "b1": 10,
        "b2": 20,
    }  # fmt: skip
    assert trio.current_time() == 30


@on_virtual_time
async def test_retries_take_slots_of_the_same_pool() -> None:
    stage = Stage(slots=1)
    fails = [Script(run_seconds=5, agent="fatal"), Script(run_seconds=5)]
    world = World({"a0": Scripted(task_id="a0", scripts={1: fails})})
    stage.add_world("a", world, max_retries=1)
    stage.add("b", [20])
    outcomes = await stage.run()

    # While the retry of a0 waits, its slot is b's; then the retry waits for b.
    assert outcomes["a"].status == "completed"
    assert stage.at("task_finished") == {"b0": 25, "a0": 30}


@on_virtual_time
async def test_every_event_says_where_its_request_stands() -> None:
    stage = Stage()
    stage.add("a", [1])
    stage.add("b", [1])
    await stage.run()

    for index, name in enumerate("ab"):
        places = {
            (e.orchestration_id, e.request_key, e.request_name, e.request_index)
            for e in stage.stores[name].events
        }
        assert places == {("o", f"o/{index}", name, index)}


@on_virtual_time
async def test_a_request_that_fails_leaves_the_others_alone() -> None:
    stage = Stage(slots=2)
    world = World({"x": Scripted(task_id="x", scripts={1: [Script(agent="fatal")]})})
    stage.add_world("fatal", world)
    stage.add("lost", [1])
    stage.jobs[1] = attrs.evolve(stage.jobs[1], benchmark=NoData(stage.worlds["lost"]))
    stage.add("full disk", [1])
    stage.stores["full disk"].fails = {"write_metrics": StoreError("no space")}
    stage.add("good", [1, 1])
    outcomes = await stage.run()

    assert {name: (o.status, o.error) for name, o in outcomes.items()} == {
        "fatal": ("failed", "Final FATAL issues; results: /memory/run"),
        "lost": ("failed", "the data set is not there"),
        "full disk": ("failed", "no space"),
        "good": ("completed", ""),
    }
    assert outcomes["lost"].result is None
    assert outcomes["lost"].paths == {}
    assert outcomes["fatal"].result is not None
    assert outcomes["fatal"].paths["output_dir"] == "/memory/run"
    assert [outcome.name for outcome in stage.told] != []
    assert {outcome.name for outcome in stage.told} == set(outcomes)
    assert overall(list(outcomes.values())) == "partial_failure"


class NoData(ScriptedBenchmark):
    def load_tasks(self, data_dir: Any) -> Any:
        raise UsageError("the data set is not there")


@on_virtual_time
async def test_one_deadline_ends_all_requests_and_begins_no_other() -> None:
    stage = Stage(slots=2, timeout_seconds=15)
    stage.add("a", [10, 10, 100])
    stage.add("b", [100] * 5)
    stage.add("c", [1])
    outcomes = await stage.run()

    assert trio.current_time() == 15
    assert {name: outcome.status for name, outcome in outcomes.items()} == dict.fromkeys(
        "abc", "timed_out"
    )
    assert outcomes["a"].error == "orchestration deadline exceeded: 15 s"
    assert outcomes["c"].error == (
        "orchestration deadline exceeded: 15 s, before this request began"
    )
    assert stage.stores["a"].published == {"a0": "", "a1": ""}
    assert (stage.stores["a"].status, stage.stores["b"].status) == ("timed_out", "timed_out")
    assert stage.stores["c"].events == []
    assert outcomes["a"].result is not None
    assert outcomes["a"].result["metrics"]["series"][0]["counts"]["evaluated"] == 2


@on_virtual_time
async def test_the_deadline_of_a_later_request_does_not_begin_anew() -> None:
    stage = Stage(slots=1, timeout_seconds=15)
    stage.add("a", [10])
    stage.add("b", [10])
    outcomes = await stage.run()

    assert trio.current_time() == 15
    assert [outcome.status for outcome in outcomes.values()] == ["completed", "timed_out"]


@on_virtual_time
async def test_a_cancellation_is_passed_on_and_every_end_is_told() -> None:
    stage = Stage(slots=1)
    stage.add("a", [10, 100])
    stage.add("b", [100])
    with trio.move_on_after(15) as scope:
        await stage.run()

    assert scope.cancelled_caught
    assert {outcome.name: outcome.status for outcome in stage.told} == {
        "a": "cancelled",
        "b": "cancelled",
    }
    first = next(outcome for outcome in stage.told if outcome.name == "a")
    assert first.result is not None
    assert first.result["metrics"]["series"][0]["counts"]["evaluated"] == 1
    assert stage.stores["a"].status == "cancelled"
    assert all(world.opened == world.closed for world in stage.worlds.values())
    assert stage.limiter.borrowed_tokens == 0


@on_virtual_time
async def test_a_request_that_never_began_is_told_of_when_cancelled() -> None:
    stage = Stage(slots=1)
    stage.add("a", [100, 100, 100])
    stage.add("b", [1])
    with trio.move_on_after(5):
        await stage.run()

    last = stage.told[-1]
    assert (last.name, last.status) == ("b", "cancelled")
    assert last.error == "the orchestration ended before this request began"
    assert stage.stores["b"].events == []


@on_virtual_time
async def test_a_request_that_is_cancelled_after_its_end_is_told_of_as_it_ended() -> None:
    """Fails where a cancellation in the last write makes a completed run a cancelled one."""
    stage = Stage()
    for name in ("a", "b", "c"):
        stage.add(name, [1])
    ends = {"a": "completed", "b": "failed", "c": "cancelled"}

    async def level(job: Job, *, on_end: Callable[..., None]) -> Mapping[str, Any]:
        job.limits.room.set()
        status = ends[str(job.request.metadata["request_name"])]
        on_end({"metadata": {"status": status}, "paths": {}})
        await trio.sleep_forever()  # as the closing of what a run wrote to
        raise AssertionError

    with trio.move_on_after(5):
        await stage.run(level)

    assert {outcome.name: outcome.status for outcome in stage.told} == ends
    assert {outcome.name: outcome.error for outcome in stage.told} == {
        "a": "",
        "b": "it had failed when it was cancelled; see its run_info.json",
        "c": "request cancelled",
    }


@on_virtual_time
async def test_a_bug_of_a_provider_ends_its_request_alone() -> None:
    """Fails where what a plug-in does around its sessions may end the other requests."""
    stage = Stage()

    class Broken(ScriptedEnvironment):
        def running(self, *, keep: bool) -> AbstractAsyncContextManager[None]:
            raise KeyError("a bug")

    stage.add("a", [100])
    stage.add("b", [1])
    broken = {"Q": Broken(stage.worlds["b"], "Q")}
    stage.jobs[1] = attrs.evolve(stage.jobs[1], environments=broken)
    outcomes = await stage.run()

    assert {name: each.status for name, each in outcomes.items()} == {
        "a": "completed",
        "b": "failed",
    }
    assert outcomes["b"].error == "environment 'Q': running: KeyError: 'a bug'"
    assert outcomes["b"].result is not None
    assert stage.stores["b"].status == "failed"


@on_virtual_time
async def test_a_bug_of_ours_ends_all_and_is_named_as_what_failed() -> None:
    stage = Stage()
    stage.add("a", [100])
    stage.add("b", [1])

    async def level(job: Job, *, on_end: Callable[..., None]) -> Mapping[str, Any]:
        if job.request.metadata["request_name"] == "b":
            raise KeyError("a bug")
        return await run_to_result(job, on_end=on_end)

    with pytest.raises(ExceptionGroup):
        await stage.run(level)

    assert {o.name: (o.status, o.error) for o in stage.told} == {
        "b": ("failed", "KeyError: 'a bug'"),
        "a": ("cancelled", "request cancelled"),
    }


@on_virtual_time
async def test_requests_begin_in_order_as_those_before_leave_room() -> None:
    """The next is prepared while the last tasks of the one before still wait."""
    stage = Stage(slots=2)
    stage.add("a", [10] * 8)
    stage.add("b", [10] * 2)
    stage.add("c", [10])
    await stage.run()
    began = {
        name: next(e for e in store.events if e.event == "run_started").timestamp
        for name, store in stage.stores.items()
    }

    assert list(began) == sorted(began, key=began.__getitem__)
    started = stage.at("task_started")
    assert [started[f"a{n}"] for n in range(8)] == [0, 0, 10, 10, 20, 20, 30, 30]
    assert started["b0"] == 40
    assert started["c0"] == 50


@on_virtual_time
async def test_a_full_provider_holds_up_no_request_of_another() -> None:
    """Slots are free, and P is full: fails where the next request waits for the last tasks."""
    stage = Stage(slots=3, provider_limits={"P": 1, "Q": None})
    stage.add("a", [10] * 5, provider="P")
    stage.add("b", [10] * 2, provider="Q")
    await stage.run()

    assert stage.at("task_started")["b0"] == 0
    assert stage.at("task_started")["b1"] == 0
    assert trio.current_time() == 50


@on_virtual_time
async def test_a_provider_that_fills_up_meanwhile_holds_up_no_request_of_another() -> None:
    """At first no slot is free, then one is, and P is full."""
    stage = Stage(slots=2, provider_limits={"P": 1, "Q": None})
    stage.add("a", [10], provider="Q")
    stage.add("b", [20], provider="P")
    stage.add("c", [5, 5], provider="P")
    stage.add("d", [1], provider="Q")
    await stage.run()

    started = stage.at("task_started")
    assert (started["d0"], started["c0"], started["c1"]) == (10, 20, 25)


@on_virtual_time
async def test_secrets_are_not_in_what_is_told() -> None:
    stage = Stage()
    stage.add("a", [1])
    stage.jobs[0] = attrs.evolve(stage.jobs[0], redactor=Redactor(["hush-hush-hush"]))

    async def level(job: Job, *, on_end: Callable[..., None]) -> Mapping[str, Any]:
        raise RequestFailed("the key hush-hush-hush is refused")

    outcomes = await stage.run(level)

    assert outcomes["a"].error == "the key ******** is refused"


@on_virtual_time
async def test_a_level_below_may_be_two_lines() -> None:
    stage = Stage()
    stage.add("a", [1])
    stage.add("b", [1])

    async def level(job: Job, *, on_end: Callable[..., None]) -> Mapping[str, Any]:
        job.limits.room.set()
        raise RequestTimeout("too late") if job is not stage.jobs[0] else StoreError("no disk")

    outcomes = await stage.run(level)

    assert {outcome.status for outcome in outcomes.values()} == {"timed_out"}


works = st.tuples(
    st.sampled_from("PQ"), st.lists(st.integers(1, 4).map(float), min_size=1, max_size=6)
)


@given(
    st.lists(works, min_size=1, max_size=4),
    st.integers(1, 4),
    st.fixed_dictionaries({name: st.none() | st.integers(1, 3) for name in "PQ"}),
)
def test_slots_and_providers_are_held_and_nothing_waits_that_could_run(
    requests: list[tuple[str, list[float]]], slots: int, limits: dict[str, int | None]
) -> None:
    """Fails where a request waits for room although its provider and a slot are free."""
    faults: list[str] = []

    async def main() -> Stage:
        set_provider_limits(limits, {})
        stage = Stage(slots=slots, provider_limits=limits)
        for number, (provider, seconds) in enumerate(requests):
            stage.add(f"r{number}-", seconds, provider=provider)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(look, stage)
            await stage.run()
            nursery.cancel_scope.cancel()
        return stage

    async def look(stage: Stage) -> None:
        await trio.sleep(0.25)  # all happens at whole seconds; then a thread may still be loading
        while True:
            await trio.sleep(0.5)
            assert stage.limiter.borrowed_tokens <= slots
            for provider, limit in limits.items():
                live = sum(world.live.get(provider, 0) for world in stage.worlds.values())
                assert live <= (limit or math.inf)
            if stage.limiter.available_tokens:
                faults.extend(unstarted(stage))

    def unstarted(stage: Stage) -> list[str]:
        started = stage.at("task_started")
        return [
            f"at {trio.current_time()}: {task}"
            for (provider, _), world in zip(requests, stage.worlds.values(), strict=True)
            for task in world.tasks
            if task not in started and provider_limiter(provider).available_tokens > 0
        ]

    stage = virtual.run(main)
    lengths = [length for _, seconds in requests for length in seconds]
    assert faults == []
    assert [outcome.status for outcome in stage.told] == ["completed"] * len(requests)
    assert len(stage.at("task_finished")) == len(lengths)
