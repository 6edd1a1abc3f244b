"""Tasks are started as there is room for them: few at once, in order, and none too late."""

import math
from collections.abc import Sequence
from typing import Any

import attrs
import pytest
import trio
import trio.testing
from hypothesis import example, given
from hypothesis import strategies as st

from agentcompass.engine.limits import Limits, provider_limiter, set_provider_limits
from agentcompass.engine.lines import Tokens
from agentcompass.engine.starting import start_in_turn
from agentcompass.engine.tree import run_job
from tests import virtual
from tests.fakes import MemoryStore, Scripted, ScriptedBenchmark, World, make_job

PROVIDERS = "PQ"

works = st.tuples(st.sampled_from(PROVIDERS), st.integers(1, 4).map(float))
provider_limits = st.fixed_dictionaries(
    {name: st.one_of(st.none(), st.integers(1, 4)) for name in PROVIDERS}
)


@attrs.define(eq=False)
class Starts:
    """Tasks that need a provider for some seconds; who was started, and who was let in."""

    work: Sequence[tuple[str, float]]
    limits: Limits
    started: list[int] = attrs.field(factory=list)
    admitted: int = 0
    most_waiting: int = 0
    faults: list[str] = attrs.field(factory=list)

    async def run(self) -> None:
        """Start all of them and wait for their end, looking for room that nobody is given."""
        async with trio.open_nursery() as watch:
            watch.start_soon(self._look)
            async with trio.open_nursery() as nursery:
                await start_in_turn(
                    self.limits, PROVIDERS, range(len(self.work)), self._starter(nursery)
                )
            watch.cancel_scope.cancel()

    def _starter(self, nursery: trio.Nursery) -> Any:
        def start(index: int) -> None:
            self.started.append(index)
            self.most_waiting = max(self.most_waiting, len(self.started) - self.admitted)
            nursery.start_soon(self._task, *self.work[index])

        return start

    async def _task(self, provider: str, seconds: float) -> None:
        async with self.limits.admit(provider):
            self.admitted += 1
            await trio.sleep(seconds)

    async def _look(self) -> None:
        while True:
            await trio.sleep(0.5)
            await trio.testing.wait_all_tasks_blocked()
            limiters = [provider_limiter(name) for name in PROVIDERS]
            free = any(limiter.available_tokens > 0 for limiter in limiters)
            if len(self.started) < len(self.work) and self.limits.slots.available_tokens and free:
                self.faults.append(f"at {trio.current_time():g}: {len(self.started)} are started")


@example([("P", 4.0), ("P", 4.0), ("Q", 1.0), ("Q", 1.0)], 2, {"P": 1, "Q": None})
@given(st.lists(works, max_size=60), st.sampled_from([1, 2, 5, math.inf]), provider_limits)
def test_nothing_waits_unstarted_that_could_run(
    work: list[tuple[str, float]], slots: float, limits: dict[str, int | None]
) -> None:
    """Whatever provider a task turns out to need. Fails with a scout for one provider alone."""

    async def main() -> Starts:
        set_provider_limits(limits, {})
        starts = Starts(work, Limits(Tokens(slots)))
        await starts.run()
        return starts

    ran = virtual.run(main)
    assert ran.started == list(range(len(work)))
    assert ran.admitted == len(work)
    assert ran.faults == []


@pytest.mark.parametrize(("slots", "limit"), [(1, None), (4, 64), (4, 1), (32, 4)])
def test_as_many_tasks_wait_as_there_are_slots_and_not_all(slots: int, limit: int | None) -> None:
    """The other provider is full with somebody else's work. Fails when all start at once."""

    async def main() -> Starts:
        set_provider_limits({"P": limit, "Q": 1}, {})
        starts = Starts([("P", 1.0)] * 1000, Limits(Tokens(slots)))
        async with Limits(Tokens(1)).admit("Q"):
            await starts.run()
        return starts

    assert virtual.run(main).most_waiting <= 4 + 2 * slots


def test_limits_that_are_raised_meanwhile_let_more_tasks_start() -> None:
    async def main() -> float:
        set_provider_limits({"P": 1, "Q": 1}, {})
        slots = Tokens(1)
        starts = Starts([("P", 10.0)] * 100, Limits(slots))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(starts.run)
            await trio.sleep(5)
            set_provider_limits({"P": 50}, {})
            slots.total_tokens = 100
        return trio.current_time()

    # One from 0 to 10, 49 from 5, one from 10, and the other 49 from 15 on.
    assert virtual.run(main) == 25


def test_a_run_has_few_of_many_tasks_alive() -> None:
    """Fails when the request starts its tasks itself."""
    world = World({f"t{n}": Scripted(task_id=f"t{n}", mode="reuse") for n in range(400)})
    most = 0

    class Counting(ScriptedBenchmark):
        async def evaluate(self, *parts: Any) -> None:
            nonlocal most
            await super().evaluate(*parts)
            most = max(most, len(_alive() & world.tasks.keys()))

    async def main() -> None:
        job = make_job(world, MemoryStore(), benchmark=Counting(world), slots=4)
        await run_job(job)

    virtual.run(main)
    assert 4 <= most <= 20


def _alive() -> set[str]:
    """The names of all tasks below trio's root."""
    root = trio.lowlevel.current_root_task()
    found, rest = set(), [] if root is None else [root]
    while rest:
        task = rest.pop()
        found.add(task.name)
        rest += [child for nursery in task.child_nurseries for child in nursery.child_tasks]
    return found
