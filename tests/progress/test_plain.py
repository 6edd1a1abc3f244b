"""Plain progress: whole lines, at the right moments (cases.md 80)."""

import pytest

from agentcompass.progress.board import Board
from agentcompass.progress.plain import EVERY_TASK, PlainLines
from agentcompass.progress.text import duration, visible
from tests.progress.test_board import event


def lines_of(*events, seconds_apart=0.0):
    board = Board()
    plain = PlainLines(board)
    said = []
    for number, each in enumerate(events):
        now = number * seconds_apart
        board.apply(each, now)
        line = plain.line(each, now)
        if line is not None:
            said.append(line)
    return said


STARTED = event("run_started", benchmark="b", harness="h", model="m", environment="e")


def loaded(total):
    return event("tasks_loaded", total_tasks=total)


def ended(number, status="completed", severity=""):
    return event("task_finished", f"t{number}", status, severity=severity)


def test_a_small_run_has_a_line_for_each_moment():
    said = lines_of(
        STARTED,
        loaded(3),
        event("task_started", "t0"),
        event(
            "attempt_retry",
            "t0",
            attempt=1,
            retry=1,
            max_retries=2,
            scope="attempt",
            retry_delay_seconds=5.0,
        ),
        ended(0),
        ended(1, severity="error"),
        ended(2, "failed", "fatal"),
        event("run_finished", status="failed", error="Final FATAL issues"),
        seconds_apart=10.0,
    )

    assert said == [
        "run r: b / h / m on e",
        "3 tasks",
        "t0#1: retry 1 of 2 (attempt) in 5.0 s",
        "[1/3] t0: completed",
        "[2/3] t1: completed with errors",
        "[3/3] t2: failed (1 failed so far)",
        (
            "failed after 1 min 10 s: 3 of 3 tasks finished, 1 failed, 1 with errors: Final FATAL"
            " issues"
        ),
    ]


def test_a_run_of_no_tasks_has_lines_too():
    said = lines_of(STARTED, loaded(0), event("run_finished", status="completed"))

    assert said[1:] == ["0 tasks", "completed after 0 s: 0 of 0 tasks finished"]


def test_the_lines_of_a_large_run_are_spaced():
    total = EVERY_TASK * 10

    said = lines_of(loaded(total), *(ended(number) for number in range(total)), seconds_apart=0.1)

    assert total / 10 - 2 <= len(said) <= total / 10 + 3


@pytest.mark.parametrize(("status", "severity"), [("failed", "fatal"), ("completed", "error")])
def test_whatever_goes_wrong_has_its_line_in_a_large_run(status, severity):
    total = EVERY_TASK * 10

    said = lines_of(loaded(total), *(ended(number, status, severity) for number in range(total)))

    assert len(said) == total + 1


def test_a_task_id_cannot_break_its_line():
    said = lines_of(loaded(1), event("task_finished", "a\n\x1b[31mb", "completed"))

    assert said[1] == "[1/1] a\\n\\x1b[31mb: completed"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3, "0 s"),
        (0.99, "0 s"),
        (59.9996, "59 s"),
        (60, "1 min 00 s"),
        (3599.9, "59 min 59 s"),
        (3600, "1 h 00 min"),
        (90061, "25 h 01 min"),
    ],
)
def test_a_duration_is_never_negative_and_never_sixty(seconds, text):
    assert duration(seconds) == text


def test_text_stays_readable():
    assert visible("zwölf 日本 🧭") == "zwölf 日本 🧭"
    assert visible("a\tb\x00\x7f\u2028") == "a\\tb\\x00\\x7f\\u2028"


def traffic(calls, waits):
    return event("model_traffic", endpoint="x:1", calls_at_once=calls, most_at_once=8, waits=waits)


def test_an_endpoint_without_room_has_few_lines():
    said = lines_of(
        traffic(4, 0),
        traffic(4, 1),
        traffic(5, 1),
        traffic(6, 2),
        traffic(3, 3),
        *(traffic(calls, 3) for calls in range(4, 9)),
        traffic(8, 100),
        event("run_finished", status="completed"),
    )

    assert said == [
        "model at x:1: 4 of 8 calls at once",
        "model at x:1: 4 of 8 calls at once, 1 wait for room",
        "model at x:1: 6 of 8 calls at once, 2 waits for room",
        "model at x:1: 3 of 8 calls at once, 3 waits for room",
        "model at x:1: 8 of 8 calls at once, 3 waits for room",
        "model at x:1: 8 of 8 calls at once, 100 waits for room",
        "completed after 0 s: 0 of 0 tasks finished, 100 waits for the model",
    ]
