"""Pausing a request, and limits that change while it runs."""

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.engine.job import Job
from agentcompass.engine.limits import Limits, provider_limiter, set_provider_limits
from agentcompass.engine.lines import Tokens
from agentcompass.engine.request import Outcome
from agentcompass.engine.tree import run_job
from tests import virtual
from tests.fakes import MemoryStore, Script, Scripted, World, make_job

Plan = Mapping[float, Callable[[Job], Any]]


@attrs.define(kw_only=True)
class Ran:
    """What became of a request whose limits were changed meanwhile."""

    world: World
    outcome: Outcome
    ended_at: float
    borrowed: dict[float, tuple[int, int]]


def run(world: World, plan: Plan, *, looks: tuple[float, ...] = (), **options: Any) -> Ran:
    """Run it, do what `plan` says at its times, and note permits and slots taken at `looks`."""
    borrowed: dict[float, tuple[int, int]] = {}

    async def steer(job: Job) -> None:
        for at in sorted({*plan, *looks}):
            await trio.sleep_until(at)
            if at in plan:
                plan[at](job)
            if at in looks:
                await trio.testing.wait_all_tasks_blocked()
                slots = job.limits.slots.borrowed_tokens
                borrowed[at] = (provider_limiter("P").borrowed_tokens, slots)

    async def main() -> Ran:
        job = make_job(world, MemoryStore(), **options)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(steer, job)
            outcome = await run_job(job)
            ended_at = trio.current_time()
            nursery.cancel_scope.cancel()
        return Ran(world=world, outcome=outcome, ended_at=ended_at, borrowed=borrowed)

    return virtual.run(main)


def world_of(number: int, *scripts: Script) -> World:
    scripts = scripts or (Script(run_seconds=10),)
    return World({f"t{n}": Scripted(task_id=f"t{n}", scripts={1: scripts}) for n in range(number)})


def pause(job: Job) -> None:
    job.limits.pause()


def resume(job: Job) -> None:
    job.limits.resume()


def test_what_runs_goes_on_and_nothing_begins_until_it_is_resumed() -> None:
    """Fails when only the tasks that are not started yet are held back."""
    ran = run(world_of(4), {5: pause, 100: resume}, slots=2)

    assert ran.world.opens["P"] == [0, 0, 100, 100]
    assert (ran.outcome.status, ran.ended_at) == ("completed", 110)


def test_a_paused_request_holds_no_limit_that_others_could_use() -> None:
    """Those who were waiting when it was paused give back what they then get."""
    ran = run(
        world_of(4),
        {5: pause, 100: resume},
        looks=(20,),
        slots=2,
        provider_limits={"P": 2},
    )

    assert ran.borrowed == {20: (0, 0)}
    assert ran.outcome.status == "completed"


def test_a_retry_waits_as_well() -> None:
    broken, fine = Script(run_seconds=10, agent="fatal"), Script(run_seconds=10)
    ran = run(world_of(1, broken, fine), {5: pause, 100: resume}, max_retries=1)

    assert ran.world.opens["P"] == [0, 100]
    assert (ran.outcome.status, ran.ended_at) == ("completed", 110)


def test_a_fresh_verifier_of_what_runs_does_not_wait() -> None:
    task = Scripted(task_id="t", scripts={1: [Script(run_seconds=10)]}, verifier="Q", mode="fresh")
    ran = run(World({"t": task}), {5: pause})

    assert (ran.outcome.status, ran.ended_at) == ("completed", 10)


def test_waiting_counts_against_the_deadline_of_the_request() -> None:
    ran = run(world_of(4), {5: pause}, slots=2, timeout_seconds=50.0)

    assert (ran.outcome.status, ran.ended_at) == ("timed_out", 50)
    assert ran.outcome.report.series[0].counts.evaluated == 2


def test_a_paused_request_starts_few_of_its_tasks() -> None:
    async def main() -> int:
        job = make_job(world_of(1000), MemoryStore(), slots=2)
        async with trio.open_nursery() as nursery:
            before = trio.lowlevel.current_statistics().tasks_living
            job.limits.pause()
            nursery.start_soon(run_job, job)
            await trio.sleep(10)
            living = trio.lowlevel.current_statistics().tasks_living - before
            nursery.cancel_scope.cancel()
        return living

    assert virtual.run(main) < 20


def test_pausing_twice_is_resumed_once() -> None:
    ran = run(world_of(3), {5: pause, 6: pause, 30: resume, 31: resume}, slots=1)

    assert ran.world.opens["P"] == [0, 30, 40]


def slots(number: int) -> Callable[[Job], None]:
    def change(job: Job) -> None:
        job.limits.slots.total_tokens = number

    return change


def provider(limit: int | None) -> Callable[[Job], None]:
    return lambda _job: set_provider_limits({"P": limit}, {})


def test_more_slots_are_used_at_once_and_fewer_as_soon_as_they_are_free() -> None:
    ran = run(world_of(9), {5: slots(3), 12: slots(1)}, slots=1)

    assert ran.world.opens["P"] == [0, 5, 5, 10, 20, 30, 40, 50, 60]
    assert ran.world.peak_running == 3


def test_a_provider_limit_that_is_lifted_lets_those_in_who_wait_for_it() -> None:
    """Fails when no limit is a limiter of its own, beside the one that they wait for."""
    ran = run(world_of(4), {5: provider(None)}, provider_limits={"P": 1})

    assert ran.world.opens["P"] == [0, 5, 5, 5]


def test_a_provider_limit_that_is_set_counts_those_who_were_let_in_without_one() -> None:
    ran = run(world_of(6), {5: provider(2)}, slots=4, provider_limits={"P": None})

    assert ran.world.opens["P"] == [0, 0, 0, 0, 10, 10]
    ran = run(world_of(6), {5: provider(1)}, slots=4, provider_limits={"P": None})
    assert ran.world.opens["P"] == [0, 0, 0, 0, 10, 20]


async def test_who_waits_through_a_pause_is_cancelled_at_once(
    autojump_clock: trio.abc.Clock,
) -> None:
    limits = Limits(Tokens(1))
    limits.pause()
    with trio.move_on_after(5) as scope:
        async with limits.admit("P"):
            raise AssertionError("let in")

    assert scope.cancelled_caught
    assert (limits.slots.borrowed_tokens, provider_limiter("P").borrowed_tokens) == (0, 0)


changes = st.one_of(
    st.just(pause),
    st.just(resume),
    st.integers(1, 4).map(slots),
    st.one_of(st.none(), st.integers(1, 4)).map(provider),
)


@given(
    st.dictionaries(st.integers(1, 60).map(float), changes, max_size=8),
    st.lists(st.integers(1, 12).map(float), min_size=1, max_size=12),
)
def test_whatever_is_changed_while_it_runs_properties(plan: Plan, work: list[float]) -> None:
    """All of it is done, and nothing begins in a pause. Fails without the second look in admit."""
    scripts = {f"t{n}": {1: [Script(run_seconds=s)]} for n, s in enumerate(work)}
    world = World({name: Scripted(task_id=name, scripts=s) for name, s in scripts.items()})
    whole = {**plan, 61.0: resume}

    ran = run(world, whole, slots=2, provider_limits={"P": 2})

    assert ran.outcome.status == "completed"
    assert world.opened == world.closed == len(work)
    for begins, ends in pauses(whole):
        assert [at for at in world.opens["P"] if begins < at < ends] == []


def pauses(plan: Plan) -> list[tuple[float, float]]:
    """From when to when it was paused."""
    found, begins = [], None
    for at in sorted(plan):
        if plan[at] is pause and begins is None:
            begins = at
        elif plan[at] is resume and begins is not None:
            found.append((begins, at))
            begins = None
    return found
