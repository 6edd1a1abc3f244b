"""What must hold for any scripts, limits and moments of stopping, on the whole tree."""

import itertools
import math
from collections import Counter
from typing import Any

import attrs
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.engine.limits import provider_limiter
from agentcompass.engine.lines import Tokens
from agentcompass.engine.request import Outcome
from agentcompass.engine.tree import run_job
from agentcompass.progress.tracker import Tracker
from agentcompass.records.convert import unstructure
from agentcompass.records.progress import ProgressEvent
from agentcompass.records.request import AttemptPlan
from tests import virtual
from tests.fakes import MemoryStore, Script, Scripted, World, make_job

GRACE = 30.0

seconds = st.integers(0, 8).map(float)
faults = st.sampled_from(["", "", "", "", "", "error", "fatal", "bug"])

scripts = st.builds(
    Script,
    open_seconds=seconds,
    open_fails=st.sampled_from([False] * 7 + [True]),
    run_seconds=seconds,
    agent=faults,
    score_seconds=seconds,
    scoring=faults,
    verdict=st.booleans(),
    close_seconds=st.sampled_from([0.0, 0.0, 1.0]),
)


@st.composite
def scripted_tasks(draw: st.DrawFn) -> dict[str, Scripted]:
    count = draw(st.integers(0, 6))
    attempts = st.dictionaries(st.integers(1, 3), st.lists(scripts, min_size=1, max_size=3))
    return {
        f"t{number}": Scripted(
            task_id=f"t{number}",
            scripts=draw(attempts),
            provider=draw(st.sampled_from("PQ")),
            verifier=draw(st.sampled_from("PQ")),
            mode=draw(st.sampled_from(["none", "reuse", "fresh", "fresh"])),
        )
        for number in range(count)
    }


@st.composite
def settings(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "slots": draw(st.integers(1, 4)),
        "provider_limits": {"P": draw(st.integers(1, 3)), "Q": draw(st.integers(1, 3))},
        "attempts": AttemptPlan(
            k=draw(st.integers(1, 3)), strategy=draw(st.sampled_from(["avg", "pass"]))
        ),
        "max_retries": draw(st.integers(0, 2)),
        "retry_pattern_list": draw(st.sampled_from([None, (), ("rate.?limit",), ("no verdict",)])),
        "cleanup_grace_seconds": GRACE,
    }


@attrs.frozen
class Ran:
    """One finished run, with the virtual seconds that it took."""

    world: World
    store: MemoryStore
    seconds: float
    outcome: Outcome | None


def run(tasks: dict[str, Scripted], *, stop_after: float = math.inf, **options: Any) -> Ran:
    """Run on a fresh loop; cancel from outside after `stop_after`."""
    world, store = World(tasks), MemoryStore()

    async def main() -> Ran:
        outcome = None
        started = trio.current_time()
        with trio.move_on_after(stop_after):
            outcome = await run_job(make_job(world, store, **options))
        return Ran(world, store, trio.current_time() - started, outcome)

    return virtual.run(main)


def events_of(ran: Ran, name: str) -> list[ProgressEvent]:
    return [event for event in ran.store.events if event.event == name]


@given(scripted_tasks(), settings())
def test_no_limit_is_ever_exceeded(tasks: dict[str, Scripted], options: dict[str, Any]) -> None:
    """Property 1. Fails when Permit.move_to skips the new provider's limiter, or the slot."""
    ran = run(tasks, **options)

    assert ran.world.peak_running <= options["slots"]
    for provider, limit in options["provider_limits"].items():
        assert ran.world.peak.get(provider, 0) <= limit


@given(scripted_tasks(), settings())
def test_whoever_waits_has_a_full_provider_or_no_free_slot(
    tasks: dict[str, Scripted], options: dict[str, Any]
) -> None:
    """Property 2. Fails when Permit.take acquires one of the two before it waits for the other."""
    world, store = World(tasks), MemoryStore()
    faults: list[str] = []

    async def watch() -> None:
        job = make_job(world, store, **options)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(look, job.limits.slots)
            await run_job(job)
            nursery.cancel_scope.cancel()

    async def look(slots: Tokens) -> None:
        while True:
            await trio.sleep(0.5)
            await trio.testing.wait_all_tasks_blocked()
            if trio.testing.active_thread_count():  # to trio that is quiet, but it is work
                continue
            faults.extend(who_waits_in_vain(slots))
            held = [slots, *map(provider_limiter, "PQ")]
            if any(tokens.borrowed_tokens > world.busy for tokens in held):
                faults.append("held by somebody who waits")

    virtual.run(watch)
    assert faults == []


def who_waits_in_vain(slots: Tokens) -> list[str]:
    """The lines in which somebody waits although a slot and a permit are free."""
    return [
        f"{len(line.waiting)} wait in vain"
        for line in slots.lines
        if slots.available_tokens > 0
        and (line.permits is None or line.permits.available_tokens > 0)
    ]


@given(scripted_tasks(), settings())
def test_every_task_and_attempt_is_measured_exactly_once(
    tasks: dict[str, Scripted], options: dict[str, Any]
) -> None:
    """Property 3. Fails without the `break` after a success, or when `pass` starts all at once."""
    ran = run(tasks, **options)
    plan: AttemptPlan = options["attempts"]

    assert set(ran.store.published) == set(tasks)
    for task_id in tasks:
        numbers = sorted(number for task, number in ran.store.attempts if task == task_id)
        solved = [number for number in numbers if _solved(ran.store.attempts[task_id, number])]
        if plan.strategy == "avg" or not solved:
            assert numbers == list(plan.numbers)
        else:
            assert numbers == list(range(1, solved[0] + 1))


def _solved(result: Any) -> bool:
    fatal = any(issue.severity == "fatal" for issue in result.issues)
    return result.metrics.get("correct") is True and not fatal


@given(scripted_tasks(), settings())
def test_retries_stay_in_their_budget_and_retry_only_what_matches(
    tasks: dict[str, Scripted], options: dict[str, Any]
) -> None:
    """Property 4. Fails when an evaluate retry also runs the agent, or `used` is not counted."""
    ran = run(tasks, **options)
    spent = Counter((detail.task_id, detail.attempt) for detail in ran.store.retries)
    whole = Counter(
        (detail.task_id, detail.attempt)
        for detail in ran.store.retries
        if detail.scope == "attempt"
    )

    for key, result in ran.store.attempts.items():
        assert result.retry_count == spent[key] <= options["max_retries"]
        assert ran.world.executions[key] == whole[key] + 1
    for detail in ran.store.retries:
        severities = {issue.severity for issue in detail.issues}
        assert (detail.matched_pattern == "fatal") == ("fatal" in severities) or (
            detail.scope == "evaluate"
        )
        assert severities & {"fatal", "error"}
        if detail.matched_pattern != "fatal":
            assert detail.matched_pattern in (options["retry_pattern_list"] or ())


@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.integers(1, 4))
def test_the_makespan_lies_between_its_bounds(durations: list[int], slots: int) -> None:
    """Property 7. Fails when a slot is kept over the end of its execution (no release)."""
    tasks = {
        f"t{n}": Scripted(task_id=f"t{n}", scripts={1: [Script(run_seconds=float(d))]})
        for n, d in enumerate(durations)
    }
    ran = run(tasks, slots=slots)
    total = float(sum(durations))

    assert max(max(durations), total / slots) <= ran.seconds <= total
    if slots == 1:
        assert ran.seconds == total


@given(st.integers(1, 8), st.sampled_from([None, 0.5, 2.0, 4.0]))
def test_opens_are_paced(count: int, qps: float | None) -> None:
    """Property 8. Fails when Pace.wait does not move the next turn on."""
    tasks = {f"t{n}": Scripted(task_id=f"t{n}") for n in range(count)}
    ran = run(tasks, env_open_qps={"P": qps})
    opens = ran.world.opens["P"]
    gaps = [later - earlier for earlier, later in itertools.pairwise(opens)]

    assert all(gap >= (0 if qps is None else 1 / qps) - 1e-9 for gap in gaps)
    if qps is None:
        assert set(opens) == {opens[0]}


@given(scripted_tasks(), settings(), st.integers(1, 20))
def test_a_request_ends_by_its_deadline_and_keeps_what_finished(
    tasks: dict[str, Scripted], options: dict[str, Any], timeout: int
) -> None:
    """Property 9. Fails when the deadline's scope does not cover the tasks, or nothing is kept."""
    ran = run(tasks, timeout_seconds=float(timeout), **options)

    assert ran.seconds <= timeout + GRACE
    assert ran.outcome is not None
    finished = len(ran.store.published)
    if finished < len(tasks):
        assert ran.store.status == "timed_out"
    assert ran.store.report is not None
    assert all(series.counts.total == len(tasks) for series in ran.store.report.series)
    assert len(events_of(ran, "task_finished")) == finished


@given(scripted_tasks(), settings(), st.integers(0, 20))
def test_a_cancelled_request_leaves_nothing_open(
    tasks: dict[str, Scripted], options: dict[str, Any], stop_after: int
) -> None:
    """Property 10. Fails when OpenSession closes outside the shield."""
    ran = run(tasks, stop_after=float(stop_after), **options)

    assert ran.world.opened == ran.world.closed
    assert set(ran.world.live.values()) <= {0}
    assert ran.world.running == 0
    if ran.outcome is None and ran.store.events:
        assert ran.store.status == "cancelled"
        assert ran.store.report is not None


@given(scripted_tasks(), settings(), st.sampled_from([math.inf, 2.0, 7.0]))
def test_events_follow_their_grammar(
    tasks: dict[str, Scripted], options: dict[str, Any], stop_after: float
) -> None:
    """Property 11. Fails when a retry emits attempt_started again, or a task finishes twice."""
    ran = run(tasks, stop_after=stop_after, **options)
    names = [event.event for event in ran.store.events]
    if not names:  # cancelled before there was a run directory
        return

    assert names[0] == "run_started"
    assert names[-1] == "run_finished"
    assert names.count("run_started") == names.count("run_finished") == 1
    for task_id in tasks:
        parse_task([event for event in ran.store.events if event.task_id == task_id])
    if stop_after == math.inf:
        started = Counter(event.task_id for event in events_of(ran, "task_started"))
        finished = Counter(event.task_id for event in events_of(ran, "task_finished"))
        assert started == finished == Counter(list(tasks))


def parse_task(events: list[ProgressEvent]) -> None:
    """Assert that the events of one task nest: the task, its attempts, what happens in them."""
    names = [event.event for event in events]
    assert names.count("task_started") <= 1
    assert names.count("task_finished") <= 1
    assert names[:1] in ([], ["task_started"])
    assert "task_finished" not in names[:-1]
    running: set[int | None] = {None}
    for event in events:
        if event.event == "attempt_started":
            assert event.attempt not in running
            running.add(event.attempt)
        assert event.attempt in running
        if event.event == "attempt_finished":
            running.remove(event.attempt)


@given(scripted_tasks(), settings(), st.sampled_from([math.inf, 3.0]))
def test_the_snapshot_is_the_fold_and_its_counts_add_up(
    tasks: dict[str, Scripted], options: dict[str, Any], stop_after: float
) -> None:
    """Property 12. Fails when task_started comes before the task is admitted and none follows."""
    ran = run(tasks, stop_after=stop_after, **options)
    tracker = Tracker("run", "scripted", "scripted", "P", "none")

    for event in ran.store.events:
        tracker.apply(event)
        now = tracker.snapshot()
        if now.status == "running" and now.total_tasks:
            counted = now.pending_tasks + now.running_tasks + now.finished_tasks
            assert counted == now.total_tasks
        assert now.completed_tasks + now.failed_tasks + now.skipped_tasks == now.finished_tasks
    assert tracker.snapshot().running_tasks == 0
    if ran.store.events:
        assert tracker.snapshot().status == ran.store.status


@given(scripted_tasks(), settings(), scripts)
def test_a_fault_of_one_task_changes_no_other_result(
    tasks: dict[str, Scripted], options: dict[str, Any], broken: Script
) -> None:
    """Property 5 of the style. Fails when a plug-in's bug escapes the attempt's boundary."""
    if not tasks:
        return
    victim = next(iter(tasks))
    changed = {
        **tasks,
        victim: attrs.evolve(tasks[victim], scripts={1: [attrs.evolve(broken, agent="bug")]}),
    }
    before, after = run(tasks, **options), run(changed, **options)

    def others(ran: Ran) -> dict[Any, Any]:
        return {
            key: unstructure(attrs.evolve(result, trajectory={}))
            for key, result in ran.store.attempts.items()
            if key[0] != victim
        }

    assert others(before) == others(after)


@given(scripted_tasks(), settings(), settings())
def test_results_do_not_depend_on_the_schedule(
    tasks: dict[str, Scripted], options: dict[str, Any], other: dict[str, Any]
) -> None:
    """Property 6 of the style: any limits and any order of tasks give equal results."""
    limits = {key: other[key] for key in ("slots", "provider_limits")}
    one = run(tasks, **options)
    two = run(dict(reversed(list(tasks.items()))), **{**options, **limits})

    assert one.store.attempts.keys() == two.store.attempts.keys()
    for key, result in one.store.attempts.items():
        assert result.metrics == two.store.attempts[key].metrics
        assert result.issues == two.store.attempts[key].issues


def test_tasks_that_change_places_do_not_wait_for_each_other() -> None:
    """The decision on permits: slots 1, limit 1, tasks from P to Q and from Q to P.

    Fails (by hanging until the request's deadline) when move_to takes before it gives back.
    """
    script = {1: [Script(run_seconds=1.0, score_seconds=1.0)]}
    tasks = {
        f"{here}{there}{n}": Scripted(
            task_id=f"{here}{there}{n}",
            scripts=script,
            provider=here,
            verifier=there,
            mode="fresh",
        )
        for here, there in ("PQ", "QP")
        for n in range(3)
    }
    limits = {"P": 1, "Q": 1}
    for slots in (1, 2):
        ran = run(tasks, slots=slots, provider_limits=limits, timeout_seconds=100.0)

        assert ran.store.status == "completed"
        assert ran.world.peak == {"P": 1, "Q": 1}


def test_a_permit_that_fails_to_move_holds_nothing() -> None:
    """Cancelled between giving back and taking, nothing is borrowed any more."""

    async def main() -> int:
        job = make_job(World({}), MemoryStore(), slots=1, provider_limits={"P": 1, "Q": 1})
        async with job.limits.admit("Q") as _other:
            slots = job.limits.slots
            slots.total_tokens = 2
            with trio.move_on_after(5):
                async with job.limits.admit("P") as permit:
                    await permit.move_to("Q")
            return int(slots.borrowed_tokens)

    assert virtual.run(main) == 1
