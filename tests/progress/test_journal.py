"""The progress files while a run goes on: order, shared writes, lag, faults, cancellation."""

import json
import logging
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.deadlines import CleanupClock
from agentcompass.progress.event_file import EventFile, read_events
from agentcompass.progress.journal import Journal
from agentcompass.records.convert import structure_record
from agentcompass.records.progress import ProgressEvent, ProgressSnapshot
from agentcompass.store.atomic import Disk
from agentcompass.store.redact import MASK, Redactor
from tests import virtual
from tests.progress.streams import event, runs, tracker
from tests.store.disks import FaultyDisk, QuickDisk

KEY = "sk-test-ABCDEFGH12345678"


def journal(
    folder: Path, disk: Disk | None = None, limiter: trio.CapacityLimiter | None = None
) -> Journal:
    disk, redactor = disk or QuickDisk(), Redactor({KEY})
    return Journal(
        events=EventFile(path=folder / "progress.jsonl", redactor=redactor, disk=disk),
        snapshot_file=folder / "progress.json",
        tracker=tracker(),
        redactor=redactor,
        disk=disk,
        limiter=limiter or trio.CapacityLimiter(2),
    )


def snapshot_in(folder: Path) -> ProgressSnapshot:
    record = json.loads((folder / "progress.json").read_text())
    return structure_record(record, ProgressSnapshot, source="progress.json")


def events_in(folder: Path) -> list[ProgressEvent]:
    return list(read_events(folder / "progress.jsonl"))


def numbered(count: int) -> list[ProgressEvent]:
    return [event("phase_changed", task_id=str(number)) for number in range(count)]


async def while_open(
    writer: Journal, body: Callable[[], Awaitable[Any]], grace_seconds: float = 30.0
) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(writer.run, CleanupClock(grace_seconds))
        await body()
        writer.stop()
    await writer.finish()


@given(st.lists(st.sampled_from(["emit", "flush", "sleep", "wait"]), max_size=20))
def test_events_are_written_once_and_in_the_order_of_emission(
    tmp_path_factory: pytest.TempPathFactory, actions: list[str]
) -> None:
    """Fails when a batch is lost or written twice, or two batches overtake each other."""
    folder = tmp_path_factory.mktemp("journal")
    emitted: list[ProgressEvent] = []

    async def main() -> None:
        writer = journal(folder)

        async def body() -> None:
            async with trio.open_nursery() as nursery:
                for action in actions:
                    if action == "emit":
                        emitted.append(event("phase_changed", task_id=str(len(emitted))))
                        writer.emit(emitted[-1])
                    elif action == "flush":
                        nursery.start_soon(writer.flush)
                    else:
                        await trio.sleep(1 if action == "sleep" else 0)

        await while_open(writer, body)

    virtual.run(main)
    assert (events_in(folder) if emitted else []) == emitted


def test_after_a_flush_everything_before_it_is_on_disk(tmp_path: Path) -> None:
    async def main() -> None:
        writer = journal(tmp_path)
        for each in numbered(3):
            writer.emit(each)
        assert not (tmp_path / "progress.jsonl").exists()
        await writer.flush()

        assert events_in(tmp_path) == numbered(3)

    virtual.run(main)


def test_flushes_at_the_same_time_share_their_writes(tmp_path: Path) -> None:
    """Fails when every caller of flush writes for itself."""
    disk = FaultyDisk()

    async def main() -> None:
        writer = journal(tmp_path, disk)

        async def emit_and_flush(number: int) -> None:
            writer.emit(event("phase_changed", task_id=str(number)))
            await writer.flush()

        async with trio.open_nursery() as nursery:
            for number in range(200):
                nursery.start_soon(emit_and_flush, number)

    virtual.run(main)
    assert len(events_in(tmp_path)) == 200
    assert disk.steps.count("sync") <= 3


class SlowDisk(QuickDisk):
    """Writes only once it is let go, as a disk that stalls."""

    def __init__(self) -> None:
        self.stalls = trio.Event()
        self.go = threading.Event()

    def write(self, file: int, data: bytes) -> None:
        trio.from_thread.run_sync(self.stalls.set)
        assert self.go.wait(30)
        super().write(file, data)


async def test_a_disk_that_stalls_does_not_hold_up_who_emits(tmp_path: Path) -> None:
    """Case 37."""
    disk = SlowDisk()
    writer = journal(tmp_path, disk)

    async def body() -> None:
        for each in numbered(500):
            writer.emit(each)
            await trio.lowlevel.checkpoint()
        await disk.stalls.wait()  # the writer's thread may begin late, and makes the file
        assert not (tmp_path / "progress.jsonl").read_bytes()
        disk.go.set()

    await while_open(writer, body)
    assert events_in(tmp_path) == numbered(500)


@given(runs())
def test_at_the_end_the_snapshot_is_the_fold_of_the_events(
    tmp_path_factory: pytest.TempPathFactory, events: list[ProgressEvent]
) -> None:
    """Property 12. Fails when the last snapshot is not written after the last event."""
    folder = tmp_path_factory.mktemp("journal")

    async def main() -> None:
        writer = journal(folder)

        async def body() -> None:
            for number, each in enumerate(events):
                writer.emit(each)
                await trio.sleep(0.1 * (number % 3))

        await while_open(writer, body)

    virtual.run(main)
    folded = tracker()
    for each in events_in(folder):
        folded.apply(each)
    assert attrs.evolve(snapshot_in(folder), elapsed_seconds=0.0) == attrs.evolve(
        folded.snapshot(), elapsed_seconds=0.0
    )


def test_the_snapshot_is_replaced_at_most_four_times_a_second_and_is_right_when_all_rests(
    tmp_path: Path,
) -> None:
    """Fails without the pause, or when nothing is written after the last event of a burst."""
    disk = FaultyDisk(where="progress.json.")  # the temporary files of progress.json

    async def main() -> None:
        writer = journal(tmp_path, disk)

        async def body() -> None:
            for number in range(1000):
                writer.emit(event("task_started", task_id=str(number)))
                await trio.sleep(0.01)
            await trio.sleep(1)
            assert snapshot_in(tmp_path).running_tasks == 1000
            before = len(disk.steps)
            await trio.sleep(60)
            assert len(disk.steps) == before

        await while_open(writer, body)

    virtual.run(main)
    assert 30 <= disk.steps.count("write") <= 42


def test_the_snapshot_is_never_ahead_of_the_events(tmp_path: Path) -> None:
    """Fails when the snapshot is taken after the events are written."""
    seen: list[tuple[int, int]] = []

    class Watching(QuickDisk):
        def rename(self, source: Path, target: Path) -> None:
            super().rename(source, target)
            if target.name == "progress.json":
                seen.append((snapshot_in(tmp_path).attempts_started, len(events_in(tmp_path))))

    async def main() -> None:
        writer = journal(tmp_path, Watching())

        async def body() -> None:
            for _ in range(100):
                writer.emit(event("attempt_started"))
                await trio.sleep(0.03)

        await while_open(writer, body)

    virtual.run(main)
    assert len(seen) > 5
    assert all(started <= written for started, written in seen)


def test_elapsed_time_is_that_of_the_monotonic_clock(tmp_path: Path) -> None:
    """Case 83: the wall clock steps back an hour; fails when time stamps are subtracted."""

    async def main() -> None:
        writer = journal(tmp_path)

        async def body() -> None:
            writer.emit(event("run_started", timestamp=7200.0))
            await trio.sleep(90)
            writer.emit(event("summary_started", timestamp=3600.0))

        await while_open(writer, body)

    virtual.run(main)
    snapshot = snapshot_in(tmp_path)
    assert (snapshot.elapsed_seconds, snapshot.updated_at) == (90.0, 3600.0)


def test_a_cancelled_run_is_still_written_as_it_cleans_up(tmp_path: Path) -> None:
    """Fails when the writer ends at once where the request is cancelled."""

    async def main() -> None:
        writer = journal(tmp_path)
        with trio.move_on_after(5):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(writer.run, CleanupClock(30.0))
                try:
                    await trio.sleep_forever()
                finally:
                    with trio.CancelScope(shield=True):
                        writer.emit(event("run_started"))
                        await trio.sleep(10)
                        assert events_in(tmp_path) == [event("run_started")]
                        assert snapshot_in(tmp_path).status == "running"
                        writer.emit(event("run_finished", status="cancelled"))
                        writer.stop()
        assert trio.current_time() == 15
        await writer.finish()

    virtual.run(main)
    assert snapshot_in(tmp_path).status == "cancelled"


def test_a_cancelled_writer_ends_with_the_cleanup_and_what_follows_is_still_written(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        writer = journal(tmp_path)
        with trio.move_on_after(5):
            await writer.run(CleanupClock(2.0))
        assert trio.current_time() == 7
        writer.emit(event("run_started"))
        await writer.finish()

    virtual.run(main)
    assert events_in(tmp_path) == [event("run_started")]


def test_a_flush_that_is_cancelled_before_it_writes_loses_nothing(tmp_path: Path) -> None:
    """Fails when the batch is dropped as its writer waits for a thread."""

    async def main() -> None:
        limiter = trio.CapacityLimiter(1)
        writer = journal(tmp_path, limiter=limiter)
        for each in numbered(2):
            writer.emit(each)
        async with limiter:
            with trio.move_on_after(1):
                await writer.flush()
            writer.emit(numbered(3)[2])
        await writer.flush()

    virtual.run(main)
    assert events_in(tmp_path) == numbered(3)


def test_a_snapshot_that_cannot_be_written_is_said_once_and_ends_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    disk = FaultyDisk(1, times=10_000, where="progress.json.")

    async def main() -> None:
        writer = journal(tmp_path, disk)

        async def body() -> None:
            for each in numbered(20):
                writer.emit(each)
                await trio.sleep(1)

        await while_open(writer, body)

    virtual.run(main)
    assert events_in(tmp_path) == numbered(20)
    assert not (tmp_path / "progress.json").exists()
    assert len(caplog.records) == 1
    assert "progress.json: No space left" in caplog.text


def test_secrets_in_the_details_of_a_task_are_masked(tmp_path: Path) -> None:
    async def main() -> None:
        writer = journal(tmp_path)
        writer.emit(event("task_started", task_id="running"))
        writer.emit(event("phase_changed", task_id="running", phase="plan", payload={"url": KEY}))
        await writer.finish()

    virtual.run(main)
    assert snapshot_in(tmp_path).active_tasks["running"].details == {"url": MASK}


def test_every_event_is_a_line_of_the_log_that_can_be_searched(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    async def main() -> None:
        writer = journal(tmp_path)
        payload = {"error": "no", "plan": {"id": 1}, "none": None}
        writer.emit(event("task_started", task_id="a b", payload={"index": 0}))
        writer.emit(event("phase_changed", task_id="a b", attempt=1, phase="evaluate"))
        writer.emit(event("run_finished", status="failed", payload=payload))
        await writer.finish()

    with caplog.at_level("DEBUG", "agentcompass.progress"):
        virtual.run(main)
    assert "\n".join(caplog.messages).splitlines() == [
        "task_started task=a b index=0",
        "phase_changed task=a b attempt=1 phase=evaluate",
        "run_finished status=failed error=no",
    ]


def test_the_lines_of_the_log_are_not_written_by_the_loop(tmp_path: Path) -> None:
    """A log is a file as well. Fails when `emit` logs."""
    writers: list[threading.Thread] = []

    class Noting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            writers.append(threading.current_thread())

    async def main() -> None:
        writer = journal(tmp_path)
        for each in numbered(3):
            writer.emit(each)
        await writer.finish()

    logger, handler = logging.getLogger("agentcompass.progress"), Noting()
    logger.addHandler(handler)
    logger.setLevel("DEBUG")
    try:
        virtual.run(main)
    finally:
        logger.removeHandler(handler)
        logger.setLevel("NOTSET")

    assert writers
    assert threading.main_thread() not in writers
