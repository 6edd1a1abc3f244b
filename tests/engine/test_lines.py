"""Whoever needs a slot and a permit gets both at once, in order, and keeps nothing from others."""

import math
from collections.abc import Iterator, Sequence

import attrs
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.engine.limits import Limits, provider_limiter, set_provider_limits
from agentcompass.engine.lines import PATIENCE, Tokens
from tests import virtual
from tests.virtual import on_virtual_time


@attrs.frozen(kw_only=True)
class Work:
    """What needs a slot of `pool`, and a permit of `provider`, from `at` on for some seconds.

    It then goes on for as long with the provider `then`, and gives up at `until`.
    """

    pool: int = 0
    provider: str | None = "P"
    at: float = 0.0
    seconds: float = 10.0
    then: str | None = "same"
    until: float = math.inf


@attrs.define(eq=False)
class Desk:
    """Does works on pools with so many slots each; who began when, and what should not be."""

    slots: Sequence[float]
    came: list[tuple[int, Work]] = attrs.field(factory=list)
    began: dict[int, float] = attrs.field(factory=dict)
    ended: list[int] = attrs.field(factory=list)
    waiting: dict[int, Work] = attrs.field(factory=dict)
    faults: list[str] = attrs.field(factory=list)
    pools: list[Limits] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.pools = [Limits(Tokens(number)) for number in self.slots]

    async def do(self, *works: Work) -> None:
        """All of them, to their ends."""
        with trio.fail_after(10_000):
            async with trio.open_nursery() as nursery:
                for index, work in enumerate(works):
                    nursery.start_soon(self._one, index, work)
                    await trio.testing.wait_all_tasks_blocked()

    async def _one(self, index: int, work: Work) -> None:
        await trio.sleep_until(work.at)
        with trio.CancelScope(deadline=work.until):
            self.waiting[index] = work
            self.came.append((index, work))
            try:
                async with self.pools[work.pool].admit(work.provider) as permit:
                    self._note(index, work)
                    await trio.sleep(work.seconds)
                    if work.then != "same":
                        await permit.move_to(work.then)
                        await trio.sleep(work.seconds)
            finally:
                self.waiting.pop(index, None)
        self.ended.append(index)

    def _note(self, index: int, work: Work) -> None:
        del self.waiting[index]
        self.began[index] = trio.current_time()
        for tokens in self._needs(work):
            if tokens.available_tokens < 0:
                self.faults.append(f"{index} is one too many")

    def _needs(self, work: Work) -> list[Tokens]:
        permits = [] if work.provider is None else [provider_limiter(work.provider)]
        return [self.pools[work.pool].slots, *permits]

    @property
    def times(self) -> Iterator[list[float]]:
        """When those who need the same began, in the order in which they came."""
        for same in {(work.pool, work.provider) for _, work in self.came}:
            yield [
                self.began[index]
                for index, work in self.came
                if index in self.began and (work.pool, work.provider) == same
            ]

    def look(self) -> None:
        """Note who waits for what is there, and owed to nobody else."""
        for index, work in self.waiting.items():
            needs = self._needs(work)
            is_there = all(each.available_tokens > len(each.owed) for each in needs)
            if is_there and not self.pools[work.pool].is_paused:
                self.faults.append(f"at {trio.current_time():g} {index} waits in vain")


@on_virtual_time
async def test_who_waits_for_a_slot_keeps_no_permit_from_others() -> None:
    """Fails where the permit is taken first: then it is used by nobody until 10."""
    set_provider_limits({"P": 1}, {})
    desk = Desk([1, 1])
    await desk.do(Work(provider="Q"), Work(), Work(pool=1))

    assert desk.began == {0: 0, 1: 10, 2: 0}
    assert trio.current_time() == 20


@on_virtual_time
async def test_who_waits_for_a_permit_keeps_no_slot_from_others() -> None:
    set_provider_limits({"P": 1}, {})
    desk = Desk([2])
    await desk.do(Work(), Work(), Work(provider="Q"), Work(provider=None))

    assert desk.began == {0: 0, 1: 10, 2: 0, 3: 10}


@on_virtual_time
async def test_who_needs_two_scarce_things_gets_them_although_others_always_want_one() -> None:
    """Fails without what is owed to those who were passed by: then it is the last to begin."""
    set_provider_limits({"P": 1}, {})
    desk = Desk([1, math.inf])
    one_slot = [Work(provider="Q", at=10.0 * n, seconds=10) for n in range(40)]
    one_permit = [Work(pool=1, at=10.0 * n + 5, seconds=10) for n in range(40)]
    both = Work(at=1.0)
    await desk.do(both, *one_slot, *one_permit)

    passed = [n for n in range(41, 81) if desk.began[n] < desk.began[0]]
    assert len(passed) == PATIENCE
    assert len(desk.ended) == 81


@on_virtual_time
async def test_what_is_owed_to_somebody_who_gives_up_is_for_the_others() -> None:
    set_provider_limits({"P": 1}, {})
    desk = Desk([1, 1])
    busy = Work(provider="Q", seconds=1000)
    passing = [Work(pool=1, at=10.0 * n) for n in range(PATIENCE + 1)]
    await desk.do(busy, Work(until=205.0), *passing, Work(pool=1, at=200.0))

    assert 1 not in desk.began
    last = PATIENCE + 3
    assert desk.began[last - 1] == desk.began[last] - 10 == 205  # both were kept waiting for it


@on_virtual_time
async def test_a_paused_request_is_owed_nothing_and_keeps_its_place() -> None:
    set_provider_limits({"P": 1}, {})
    desk = Desk([1, 1])
    passing = [Work(pool=1, at=10.0 * n) for n in range(PATIENCE + 3)]

    async def pause() -> None:
        await trio.sleep(10.0 * PATIENCE + 5)
        desk.pools[0].pause()
        await trio.sleep(100)
        desk.pools[0].resume()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(pause)
        await desk.do(Work(provider="Q", seconds=1000), Work(), *passing)

    assert desk.began[PATIENCE + 4] == 10.0 * (PATIENCE + 2) + 5
    assert desk.began[1] == 1000


@on_virtual_time
async def test_all_that_are_cancelled_at_once_leave_nothing_borrowed() -> None:
    """One of them may be let in by another that has run before it."""
    set_provider_limits({"P": 2}, {})
    desk = Desk([3])
    await desk.do(*(Work(until=5.0, then="Q") for _ in range(50)))

    assert sorted(desk.ended) == list(range(50))
    assert desk.pools[0].slots.borrowed_tokens == provider_limiter("P").borrowed_tokens == 0
    assert desk.pools[0].slots.lines == provider_limiter("P").lines == set()


Changes = list[tuple[float, tuple[str | int, int | None]]]

works = st.builds(
    Work,
    pool=st.integers(0, 2),
    provider=st.sampled_from(["P", "P", "Q", None]),
    at=st.integers(0, 20).map(float),
    seconds=st.integers(1, 9).map(float),
    then=st.sampled_from(["same", "same", "P", "Q", None]),
    until=st.one_of(st.just(math.inf), st.integers(1, 60).map(lambda n: n + 0.5)),
)
limits = st.one_of(st.none(), st.integers(1, 3))
changes = st.tuples(
    st.integers(0, 40).map(lambda n: n + 0.25),
    st.one_of(
        st.tuples(st.sampled_from("PQ"), limits),
        st.tuples(st.integers(0, 2), st.integers(1, 4)),
        st.tuples(st.integers(0, 2), st.booleans()),
    ),
)


@given(
    st.lists(works, max_size=40),
    st.tuples(*[st.integers(1, 4)] * 3),
    st.fixed_dictionaries({"P": limits, "Q": limits}),
    st.lists(changes, max_size=6),
)
def test_whatever_is_wanted_nothing_is_exceeded_or_waited_for_in_vain_and_all_ends(
    works: list[Work],
    slots: tuple[int, int, int],
    provider_limits: dict[str, int | None],
    changes: Changes,
) -> None:
    """Fails where a limit that is raised, or a cancellation, lets nobody in."""

    async def main() -> Desk:
        set_provider_limits(provider_limits, {})
        desk = Desk(slots)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch, desk)
            nursery.start_soon(change, desk, changes)
            await desk.do(*works)
            nursery.cancel_scope.cancel()
        return desk

    desk = virtual.run(main)
    assert desk.faults == []
    assert sorted(desk.ended) == list(range(len(works)))
    assert all(times == sorted(times) for times in desk.times)
    assert [pool.slots.borrowed_tokens for pool in desk.pools] == [0, 0, 0]
    assert [pool.slots.lines for pool in desk.pools] == [set(), set(), set()]


async def watch(desk: Desk) -> None:
    while True:  # all happens at other times
        await trio.sleep_until(math.floor(trio.current_time()) + 1.75)
        desk.look()


async def change(desk: Desk, changes: Changes) -> None:
    for at, (what, value) in sorted(changes, key=lambda each: each[0]):
        await trio.sleep_until(at)
        if isinstance(what, str):
            set_provider_limits({what: value}, {})
        elif isinstance(value, bool):
            (desk.pools[what].pause if value else desk.pools[what].resume)()
        elif value is not None:
            desk.pools[what].slots.total_tokens = value
    await trio.sleep_until(41)
    for pool in desk.pools:
        pool.resume()
