"""The latest events for readers at their own pace: what is missed is counted and folded."""

from collections.abc import Sequence

import attrs
import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.progress.history import EventHistory, EventStream
from agentcompass.records.progress import EventsDropped, ProgressEvent
from tests.progress.streams import event, runs, tracker


def history(size: int) -> EventHistory:
    return EventHistory(size=size, latest=tracker(), forgotten=tracker())


def named(*names: str) -> list[ProgressEvent]:
    return [event(name) for name in names]


async def read(stream: EventStream) -> list[str]:
    return [each.event async for each in stream]


async def test_a_reader_is_given_every_event_and_the_end() -> None:
    events = history(10)
    for each in named("run_started", "tasks_loaded", "run_finished"):
        events.emit(each)
    events.close()

    assert await read(EventStream(events)) == ["run_started", "tasks_loaded", "run_finished"]


async def test_a_reader_waits_for_news_and_another_waits_for_none(
    autojump_clock: trio.abc.Clock,
) -> None:
    events = history(10)
    found: dict[str, list[str]] = {}

    async def reader(name: str) -> None:
        found[name] = await read(EventStream(events))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(reader, "from the beginning")
        await trio.sleep(1)
        events.emit(event("run_started"))
        await trio.sleep(1)
        nursery.start_soon(reader, "later")
        events.emit(event("run_finished"))
        events.close()

    assert set(found) == {"from the beginning", "later"}
    assert all(names == ["run_started", "run_finished"] for names in found.values())


async def test_what_a_reader_misses_is_counted_and_its_state_told() -> None:
    events = history(2)
    for each in (
        event("run_started"),
        event("tasks_loaded", payload={"total_tasks": 3}),
        event("task_started", task_id="a"),
        event("phase_changed", task_id="a", phase="plan"),
        event("phase_changed", task_id="a", phase="evaluate"),
    ):
        events.emit(each)
    stream = EventStream(events)
    first = await anext(stream)
    second = await anext(stream)

    assert isinstance(first, EventsDropped)
    assert (first.event, first.dropped, stream.dropped) == ("events_dropped", 3, 3)
    assert (first.snapshot.run_id, first.snapshot.status) == ("r", "running")
    assert (first.snapshot.total_tasks, first.snapshot.running_tasks) == (3, 1)
    assert first.snapshot.active_tasks["a"].phase == "running"
    assert isinstance(second, ProgressEvent)
    assert second.phase == "plan"


async def test_a_reader_that_is_cancelled_loses_nothing() -> None:
    events = history(5)
    stream = EventStream(events)
    with trio.move_on_after(0.01):
        await anext(stream)
    events.emit(event("run_started"))
    with trio.CancelScope() as scope:
        scope.cancel()
        await anext(stream)

    assert (await anext(stream)).event == "run_started"


async def test_reading_lets_other_tasks_run() -> None:
    events = history(5)
    events.emit(event("run_started"))
    with trio.testing.assert_checkpoints():
        await anext(EventStream(events))


@pytest.mark.parametrize("size", [1, 3])
async def test_no_more_than_its_size_is_held(size: int) -> None:
    events = history(size)
    for _ in range(100):
        events.emit(event("phase_changed"))

    assert events.end - events.begin == size


@given(runs(), st.integers(1, 8), st.lists(st.integers(0, 12)))
def test_a_reader_knows_the_whole_run_however_slow_it_is(
    emitted: Sequence[ProgressEvent], size: int, reads: Sequence[int]
) -> None:
    """Fails when a dropped event is not folded, or one that is held is."""
    events = history(size)
    stream = EventStream(events)
    found: list[ProgressEvent | EventsDropped] = []

    async def main() -> None:
        pace = iter(reads)
        for each in emitted:
            events.emit(each)
            due = next(pace, 0)
            while due and stream._next < events.end:
                due -= 1
                found.append(await anext(stream))
        events.close()
        found.extend([each async for each in stream])

    trio.run(main)
    folded, place = tracker(), 0
    for each in found:
        if isinstance(each, EventsDropped):
            for missed in emitted[place : place + each.dropped]:
                folded.apply(missed)
            assert each.snapshot == folded.snapshot()
            place += each.dropped
        else:
            folded.apply(each)
            assert each is emitted[place]
            place += 1
    assert place == len(emitted)
    assert stream.dropped == sum(e.dropped for e in found if isinstance(e, EventsDropped))


def test_a_drop_reads_as_a_record() -> None:
    record = attrs.asdict(EventsDropped(dropped=2, snapshot=tracker().snapshot()))

    assert (record["event"], record["dropped"]) == ("events_dropped", 2)
