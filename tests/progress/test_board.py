"""What the terminal counts is what the events say."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.progress.board import NAMED, Board
from agentcompass.records.progress import ProgressEvent

STATUSES = ("completed", "failed", "skipped")


def event(name, task_id=None, status=None, attempt=None, phase=None, **payload):
    return ProgressEvent(
        run_id="r",
        event=name,
        timestamp=0.0,
        task_id=task_id,
        status=status,
        attempt=attempt,
        phase=phase,
        payload=payload,
    )


@given(st.lists(st.tuples(st.sampled_from(STATUSES), st.sampled_from(["", "error", "fatal"]))))
def test_every_task_is_counted_once(endings):
    """Fails when a failed task is counted as completed, too."""
    board = Board()
    board.apply(event("tasks_loaded", total_tasks=len(endings)), 0.0)
    for number, (status, severity) in enumerate(endings):
        board.apply(event("task_started", f"t{number}"), 0.0)
        assert board.finished + len(board.running) == number + 1
        board.apply(event("task_finished", f"t{number}", status, severity=severity), 0.0)

    assert board.running == {}
    assert board.finished == board.total == len(endings)
    assert board.failed == sum(status == "failed" for status, _ in endings)
    assert board.with_errors == sum(severity == "error" for _, severity in endings)
    assert len(board.failures) == min(NAMED, board.failed)


def test_a_running_task_shows_its_latest_attempt_and_phase():
    board = Board()
    board.apply(event("task_started", "t"), 5.0)
    board.apply(event("attempt_started", "t", attempt=1), 6.0)
    board.apply(event("phase_changed", "t", attempt=2, phase="run_harness"), 7.0)

    board.apply(event("phase_changed", "t", attempt=2, phase="run_harness", more=1), 8.0)
    assert attrs.astuple(board.running["t"]) == (5.0, 2, "run_harness", 7.0)


def test_elapsed_stands_still_at_the_end():
    board = Board()
    assert board.elapsed(9.0) == 0.0

    board.apply(event("run_started", benchmark="b", harness="h", model="m", environment="e"), 1.0)
    assert board.elapsed(3.0) == 2.0
    board.apply(event("run_finished", status="failed", error="why"), 4.0)

    assert board.elapsed(9.0) == 3.0
    assert (board.title, board.status, board.error) == ("b / h / m on e", "failed", "why")


@pytest.mark.parametrize("name", ["task_finished", "attempt_retry", "phase_changed", "new_event"])
def test_an_event_that_comes_out_of_turn_is_taken(name):
    board = Board()

    board.apply(event(name, "t", total_tasks=None), 0.0)

    assert board.running == {}


def test_an_endpoint_shows_what_was_heard_of_it_last():
    board = Board()
    for calls, waits in ((4, 1), (5, 2)):
        payload = {"calls_at_once": calls, "most_at_once": 8, "waits": waits}
        board.apply(event("model_traffic", endpoint="x", **payload), 0.0)
    board.apply(event("model_traffic", endpoint="y", calls_at_once=None, waits=1), 0.0)

    assert board.traffic["x"].text == "5 of 8 calls at once, 2 waits for room"
    assert board.traffic["x"].is_reduced
    assert board.traffic["y"].text == "1 wait for room"
    assert not board.traffic["y"].is_reduced
