"""The terminal reporter on real streams: pipes, terminals, and those that break or stall."""

import io
import os
import pty
import re
import threading
import time
from contextlib import suppress

import pytest

from agentcompass.progress.terminal import terminal
from tests.progress.test_board import event

TERMINAL = {"TERM": "xterm"}
EVENTS = (
    event("run_started", benchmark="b", harness="h", model="m", environment="e"),
    event("tasks_loaded", total_tasks=2),
    event("task_started", "one"),
    event("attempt_started", "one", attempt=1),
    event("phase_changed", "one", attempt=1, phase="run_harness"),
    event("task_finished", "one", "failed", severity="fatal"),
    event("task_finished", "two", "completed", severity=""),
    event("run_finished", status="failed"),
)


class Screen:
    """The far end of a pseudo-terminal: what was written to it, read all along."""

    def __init__(self):
        self._far, near = pty.openpty()
        self.stream = os.fdopen(near, "w", encoding="utf-8")
        self._pieces = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        while True:
            try:
                piece = os.read(self._far, 65536)
            except OSError:
                return
            if not piece:
                return
            self._pieces.append(piece)

    def text(self):
        """Everything; ends the terminal."""
        self.stream.close()
        self._reader.join(10)
        os.close(self._far)
        return b"".join(self._pieces).decode()


def without_codes(text):
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


async def show(mode, stream, environ, events=EVENTS):
    async with terminal(mode, stream, environ=environ) as display:
        for each in events:
            display.emit(each)


@pytest.mark.parametrize("mode", ["auto", "plain"])
async def test_a_pipe_gets_whole_lines_without_escape_codes(mode):
    stream = io.StringIO()

    await show(mode, stream, TERMINAL)

    assert stream.getvalue().splitlines() == [
        "run r: b / h / m on e",
        "2 tasks",
        "[1/2] one: failed (1 failed so far)",
        "[2/2] two: completed (1 failed so far)",
        "failed after 0 s: 2 of 2 tasks finished, 1 failed",
    ]
    assert "\x1b" not in stream.getvalue()


async def test_none_shows_nothing_but_what_is_said():
    stream = io.StringIO()

    async with terminal("none", stream, environ=TERMINAL) as display:
        for each in EVENTS:
            display.emit(each)
        display.say("two\nlines\x1b[31m")

    assert stream.getvalue() == "two\nlines\\x1b[31m\n"
    assert not display.shows_progress


async def test_a_terminal_gets_a_drawing_that_ends_with_the_last_state():
    screen = Screen()

    async with terminal("auto", screen.stream, environ=TERMINAL) as display:
        for each in EVENTS[:5]:
            display.emit(each)
        time.sleep(0.4)  # noqa: ASYNC251 - the writer draws in its own thread, while the loop is busy
        display.say("INFO above the drawing")
        for each in EVENTS[5:]:
            display.emit(each)
    text = screen.text()

    assert "\x1b[?25l" in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")
    plain = without_codes(text)
    assert "one#1" in plain
    assert "run_harness" in plain
    assert "INFO above the drawing" in plain
    last = plain[plain.rindex("b / h / m on e") :]
    assert "failed" in last
    assert "2/2" in last
    assert "failed: one" in last
    assert "run_harness" not in last


async def test_an_endpoint_without_room_is_drawn():
    screen = Screen()

    payload = {"endpoint": "x:1\x1b[", "calls_at_once": 3, "most_at_once": 8, "waits": 2}
    await show("auto", screen.stream, TERMINAL, [*EVENTS[:2], event("model_traffic", **payload)])

    drawn = without_codes(screen.text())
    assert "model at x:1\\x1b[: 3 of 8 calls at once, 2 waits for room" in drawn


@pytest.mark.parametrize(
    "environ",
    [
        {"TERM": "dumb"},
        {"TERM": "unknown"},
        {},
        {"TERM": "xterm", "CI": "1"},
        {"TERM": "xterm", "CI": "true"},
    ],
    ids=str,
)
async def test_a_terminal_that_cannot_draw_or_has_no_reader_gets_lines(environ):
    screen = Screen()

    await show("auto", screen.stream, environ)

    text = screen.text()
    assert "\x1b" not in text
    assert "[2/2] two: completed (1 failed so far)" in text


@pytest.mark.parametrize("columns", ["0", "1", "29"])
async def test_a_terminal_without_width_gets_lines(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("LINES", "5")
    screen = Screen()

    await show("auto", screen.stream, TERMINAL)

    assert "[1/2] one: failed (1 failed so far)" in screen.text()


@pytest.mark.parametrize(("columns", "lines"), [("30", "1"), ("40", "0"), ("400", "100")])
async def test_a_terminal_of_any_size_is_drawn_on(columns, lines, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("LINES", lines)
    screen = Screen()

    many = [event("task_started", f"日本-{number:05}") for number in range(40)]
    await show("auto", screen.stream, TERMINAL, [*EVENTS[:2], *many, *EVENTS[5:]])

    assert "2/2" in without_codes(screen.text())


async def test_a_run_of_no_tasks_is_drawn():
    screen = Screen()

    await show(
        "auto",
        screen.stream,
        TERMINAL,
        [EVENTS[0], event("tasks_loaded", total_tasks=0), event("run_finished")],
    )

    assert "0/0" in without_codes(screen.text())


async def test_a_run_where_all_fails_moves_on():
    screen = Screen()
    failing = [event("task_finished", f"t{n}", "failed", severity="fatal") for n in range(30)]

    await show(
        "auto",
        screen.stream,
        TERMINAL,
        [EVENTS[0], event("tasks_loaded", total_tasks=30), *failing, EVENTS[-1]],
    )

    text = without_codes(screen.text())
    assert "30/30" in text
    assert "failed: t29, t28, t27 and 27 more" in text


async def test_a_terminal_that_stalls_stalls_nothing_else():
    """Fails when `emit` writes by itself: a terminal that nobody reads takes a few kilobytes."""
    far, near = pty.openpty()
    began = time.monotonic()

    stream = os.fdopen(near, "w", encoding="utf-8")
    async with terminal("plain", stream, environ=TERMINAL) as display:
        for number in range(20_000):
            display.emit(event("task_finished", f"t{number}", "failed", severity="fatal"))
        emitted = time.monotonic() - began
    closed = time.monotonic() - began
    os.close(far)
    with suppress(OSError):
        stream.close()

    assert emitted < 5
    assert closed < 15


async def test_a_reader_that_goes_away_ends_only_the_display():
    far, near = os.pipe()
    os.close(far)

    stream = os.fdopen(near, "w", encoding="utf-8")
    await show("plain", stream, TERMINAL)
    with pytest.raises(BrokenPipeError):
        stream.close()


@pytest.mark.parametrize("mode", ["auto", "plain", "none"])
async def test_a_closed_stream_is_no_reason_to_fail(mode):
    await show(mode, None, TERMINAL)


async def test_an_error_inside_passes_as_it_is():
    with pytest.raises(LookupError):
        async with terminal("plain", io.StringIO(), environ=TERMINAL):
            raise LookupError


async def test_lines_of_several_threads_do_not_mix():
    stream = io.StringIO()

    async with terminal("none", stream, environ=TERMINAL) as display:
        threads = [
            threading.Thread(target=lambda name=name: [display.say(name * 50) for _ in range(100)])
            for name in "abc"
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    lines = stream.getvalue().splitlines()
    assert len(lines) == 300
    assert set(lines) == {"a" * 50, "b" * 50, "c" * 50}
