"""progress.jsonl: appended in order, readable after any crash (cases 23, 24 and 37)."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.errors import RecordCorrupt, StoreError
from agentcompass.progress.event_file import EventFile, read_events
from agentcompass.records.progress import ProgressEvent
from agentcompass.store.atomic import Disk
from agentcompass.store.redact import MASK, Redactor
from tests import strategies
from tests.progress.streams import event
from tests.store.disks import FaultyDisk, QuickDisk, bad_block, no_space

KEY = "sk-test-ABCDEFGH12345678"


def event_file(path: Path, disk: Disk | None = None) -> EventFile:
    return EventFile(path=path, redactor=Redactor({KEY}), disk=disk or QuickDisk())


def test_every_field_is_on_every_line(tmp_path: Path) -> None:
    path = tmp_path / "progress.jsonl"
    event_file(path).append([event("run_started", timestamp=1.5, payload={"model": "é"})])

    (line,) = path.read_text().splitlines()
    assert list(json.loads(line).items()) == [
        *(("run_id", "r"), ("event", "run_started"), ("timestamp", 1.5), ("task_id", None)),
        *(("category", None), ("attempt", None), ("phase", None), ("status", None)),
        *(("payload", {"model": "é"}), ("orchestration_id", None), ("request_key", None)),
        *(("request_name", None), ("request_index", None)),
    ]


@given(st.lists(strategies.progress_events, max_size=5))
def test_events_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, events: list[ProgressEvent]
) -> None:
    """Fails when a line end inside a payload ends the line, or a surrogate is replaced."""
    path = tmp_path_factory.mktemp("events") / "progress.jsonl"
    file = EventFile(path=path, redactor=Redactor(), disk=QuickDisk())
    for each in events:
        file.append([each])
    file.close()

    assert (list(read_events(path)) if events else []) == events


def _whole(path: Path) -> tuple[list[ProgressEvent], bytes]:
    events = [event("task_started", task_id=name, category="é") for name in "ab"]
    event_file(path).append(events)
    return events, path.read_bytes()


@pytest.mark.parametrize("filling", [b"", b"\0" * 7])
def test_wherever_the_last_line_is_cut_only_that_line_is_lost(
    tmp_path: Path, filling: bytes
) -> None:
    path = tmp_path / "progress.jsonl"
    events, data = _whole(path)
    first = data.index(b"\n") + 1

    for end in range(first, len(data)):
        path.write_bytes(data[:end] + filling)
        kept = events if end == len(data) - 1 and not filling else events[:1]
        assert list(read_events(path)) == kept

        event_file(path).append([event("summary_started")])  # as a second run would
        assert list(read_events(path)) == [*kept, event("summary_started")]


def test_a_fault_before_the_last_line_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "progress.jsonl"
    _, data = _whole(path)
    path.write_bytes(b"{}\n" + data)

    with pytest.raises(RecordCorrupt, match=r"progress\.jsonl, line 1"):
        list(read_events(path))
    path.write_bytes(data + b"\0\0\n")
    with pytest.raises(RecordCorrupt, match=r"progress\.jsonl, line 3"):
        list(read_events(path))
    with pytest.raises(StoreError, match="No such file"):
        list(read_events(tmp_path / "none"))


def test_a_file_longer_than_a_block_is_continued_on_a_fresh_line(tmp_path: Path) -> None:
    path = tmp_path / "progress.jsonl"
    long = event("phase_changed", payload={"text": "x" * 200_000})
    event_file(path).append([long])
    path.write_bytes(path.read_bytes() + b'{"run_id": "' + b"y" * 100_000)
    event_file(path).append([long])

    assert list(read_events(path)) == [long, long]


@pytest.mark.parametrize("error", [no_space, bad_block])
@pytest.mark.parametrize("step", [1, 2])
def test_an_event_that_cannot_be_written_is_counted_and_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, step: int, error: Any
) -> None:
    """Case 37: the events after it are written, in order, each on its own line."""
    path = tmp_path / "progress.jsonl"
    file = event_file(path, FaultyDisk(step, times=1, error=error))
    events = [event("task_started", task_id=str(number)) for number in range(4)]
    for each in events:
        file.append([each])
    file.close()

    written = list(read_events(path))
    assert written == (events[1:] if step == 1 else events)  # the sync failed, the line was there
    assert file.lost == 1
    warnings = [record.getMessage() for record in caplog.records]
    assert len(warnings) == 2
    assert warnings[0].startswith("progress is not written, the run goes on: ")
    assert "lacks up to 1 events" in warnings[1]


def test_a_disk_that_stays_full_ends_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = event_file(tmp_path / "progress.jsonl", FaultyDisk(1, times=1000))
    for _ in range(10):
        file.append([event("task_started")])
    file.close()

    assert file.lost == 10
    assert len(caplog.records) == 2


def test_a_payload_that_has_no_form_costs_only_itself(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "progress.jsonl"
    odd: dict[str, Any] = {"n": float("nan")}
    odd_again: dict[str, Any] = {}
    odd_again["self"] = odd_again
    event_file(path).append(
        [
            event("phase_changed", task_id="a", payload=odd),
            event("phase_changed", task_id="b", category=object(), payload=odd_again),
            event("task_finished", task_id="c"),
        ]
    )

    found = list(read_events(path))
    assert [each.task_id for each in found] == ["a", "b", "c"]
    assert "not finite" in found[0].payload["unwritable"]
    assert found[1].category is None
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2


def test_events_that_share_their_payload_are_written_like_any_other(tmp_path: Path) -> None:
    """Fails when a payload is known by its event's name alone."""
    shared, other = {"key": KEY, "places": (1, 2)}, {"key": "b"}
    events = [
        event(name, task_id=task, payload=payload)
        for task in "ab"
        for name, payload in (("plan", shared), ("plan", other), ("retry", shared), ("plan", {}))
    ]
    path = tmp_path / "progress.jsonl"
    event_file(path).append(events)

    masked = {"key": MASK, "places": [1, 2]}
    assert [each.payload for each in read_events(path)] == [masked, other, masked, {}] * 2


def test_a_category_that_has_no_form_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "progress.jsonl"
    odd = event("task_started", task_id="a", category=object(), payload={"x": 1})
    event_file(path).append([odd])

    (line,) = read_events(path)
    assert (line.task_id, line.category) == ("a", None)
    assert line.payload["unwritable"].startswith("category: a value of type object")


def test_secrets_are_masked_in_events_and_their_names_are_not(tmp_path: Path) -> None:
    path = tmp_path / "progress.jsonl"
    payload = {"error": f"401 for {KEY}", "apiKey": "x", "index": 0}
    event_file(path).append([event("run_finished", status="failed", payload=payload)])

    (found,) = read_events(path)
    assert found.payload == {"error": f"401 for {MASK}", "apiKey": MASK, "index": 0}
    assert found.status == "failed"
