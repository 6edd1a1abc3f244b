"""The requests of a launch on one display: a line for each, and lines that say whose they are."""

import io
from typing import Any

import attrs
import pytest
from rich.console import Console

from agentcompass.progress.board import Board
from agentcompass.progress.live import render_requests
from agentcompass.progress.terminal import terminal
from agentcompass.records.orchestration import RequestOutcome
from agentcompass.records.progress import ProgressEvent
from tests.progress.test_board import event
from tests.progress.test_terminal import TERMINAL, Screen, without_codes

STARTED = {"benchmark": "b", "harness": "h", "model": "m", "environment": "e"}


def of(name: str, *events: ProgressEvent) -> list[ProgressEvent]:
    return [attrs.evolve(each, request_name=name) for each in events]


def begun(name: str, total: int = 2) -> list[ProgressEvent]:
    return of(name, event("run_started", **STARTED), event("tasks_loaded", total_tasks=total))


def finished(name: str, status: str = "completed") -> list[ProgressEvent]:
    return of(name, event("run_finished", status=status))


def outcome(name: str, status: Any, error: str | None = None) -> RequestOutcome:
    return RequestOutcome(name=name, status=status, error=error)


async def test_plain_lines_begin_with_the_name_of_the_request() -> None:
    stream = io.StringIO()
    async with terminal("plain", stream, requests=["a", "b", "c"]) as display:
        for each in (*begun("a"), *begun("b", 1)):
            display.emit(each)
        display.emit(of("b", event("task_finished", "t", "completed", severity=""))[0])
        display.emit(finished("b")[0])
        display.ended(outcome("b", "completed"))
        display.ended(outcome("c", "failed", "the data set\nis not there"))

    assert stream.getvalue().splitlines() == [
        "a: run r: b / h / m on e",
        "a: 2 tasks",
        "b: run r: b / h / m on e",
        "b: 1 task",
        "b: [1/1] t: completed",
        "b: completed after 0 s: 1 of 1 tasks finished",
        "c: failed: the data set\\nis not there",
    ]


async def test_a_terminal_has_a_line_for_each_request() -> None:
    screen = Screen()
    async with terminal(
        "auto", screen.stream, environ=TERMINAL, requests=["first", "second", "third"]
    ) as display:
        for each in (*begun("first"), *of("first", event("task_started", "t"))):
            display.emit(each)
        display.ended(outcome("second", "failed", "the data set is not there"))
    last = [line.rstrip() for line in without_codes(screen.text()).splitlines() if line.strip()][
        -3:
    ]

    assert last == [
        "first   running      0/2  1 running  0 s",
        "second  failed         the data set is not there",
        "third   waiting",
    ]


@pytest.mark.parametrize("width", [30, 80, 200])
def test_where_there_are_too_many_those_that_run_are_shown(width: int) -> None:
    boards: dict[str | None, Board] = {f"r{number}": Board() for number in range(50)}
    for name in ("r40", "r41"):
        for each in begun(name):
            boards[name].apply(each, 0.0)
    console = Console(width=width, file=io.StringIO(), force_terminal=False)
    console.print(render_requests(boards, 5.0, rows=6))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]

    assert len(lines) == 6
    assert [line.split()[0] for line in lines[:3]] == ["r40", "r41", "r0"]
    assert lines[-1] == "and 45 more"
    assert all(len(line) <= width for line in lines)


def test_odd_names_stay_on_their_line() -> None:
    boards: dict[str | None, Board] = {"new\nline \x1b[31m": Board(), "x" * 300: Board()}
    console = Console(width=80, file=io.StringIO(), force_terminal=False)
    console.print(render_requests(boards, 0.0, rows=10))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]

    assert len(lines) == 2
    assert "\x1b" not in "".join(lines)
