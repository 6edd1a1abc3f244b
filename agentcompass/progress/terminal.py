"""The terminal as a reporter: drawn with rich, as plain lines, or not at all."""

import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal, TextIO

from agentcompass.progress.board import Board
from agentcompass.progress.text import visible
from agentcompass.progress.writer import Writer
from agentcompass.records.progress import ProgressEvent

if TYPE_CHECKING:
    from agentcompass.progress.live import LiveDrawing
    from agentcompass.progress.plain import PlainLines
    from agentcompass.records.orchestration import RequestOutcome

Mode = Literal["auto", "plain", "none"]


class Display:
    """Shows one run, or the named requests of a launch, on a stream. Open it by `terminal`."""

    def __init__(
        self,
        mode: Mode,
        stream: TextIO | None,
        *,
        environ: Mapping[str, str],
        clock: Callable[[], float],
        requests: Sequence[str] = (),
    ) -> None:
        self._stream = stream
        self._clock = clock
        self._boards: dict[str | None, Board] = {name: Board() for name in requests or (None,)}
        self._lock = threading.Lock()  # the boards are folded here and drawn in the writer
        self._drawing = _drawing(stream, environ) if mode == "auto" else None
        is_plain = mode != "none" and self._drawing is None
        self._lines = _plain_lines(self._boards) if is_plain else {}
        self._writer = Writer(self._draw if self._drawing else None)

    @property
    def shows_progress(self) -> bool:
        """Whether anything comes of the events."""
        return bool(self._lines) or self._drawing is not None

    def emit(self, event: ProgressEvent) -> None:
        """Take note of an event; never blocks, never raises."""
        now, name = self._clock(), event.request_name
        with self._lock:
            self._boards[name].apply(event, now)
            line = self._lines[name].line(event, now) if self._lines else None
        if line is not None:
            self.say(line if name is None else f"{name}: {line}")

    def ended(self, outcome: "RequestOutcome") -> None:
        """Take note of the end of a request; of one that began, its events have told."""
        board = self._boards[outcome.name]
        if board.ended is not None:
            return
        with self._lock:
            board.status, board.error = outcome.status, outcome.error or ""
        if self._lines:
            status = outcome.status.replace("_", " ")
            self.say(f"{outcome.name}: {status}: {visible(board.error)}")

    def say(self, text: str) -> None:
        """Have whole lines on the stream, above what is drawn there."""
        for line in text.expandtabs().splitlines():
            self._writer.put(lambda line=line: self._print(visible(line)))  # type: ignore[misc]

    def close(self) -> None:
        """Write what is still to be written, within two seconds."""
        if self._drawing is not None:
            self._writer.put(self._draw)
            self._writer.put(self._drawing.close)
        self._writer.close()

    def _print(self, line: str) -> None:
        if self._drawing is not None:
            self._drawing.say(line)
        elif self._stream is not None:
            self._stream.write(f"{line}\n")
            self._stream.flush()

    def _draw(self) -> None:
        if self._drawing is None or all(each.began is None for each in self._boards.values()):
            return
        with self._lock:
            frame = self._drawing.frame(self._boards, self._clock())
        self._drawing.draw(frame)  # not under the lock: a terminal may stall, `emit` must not


@asynccontextmanager
async def terminal(
    mode: Mode,
    stream: TextIO | None,
    *,
    environ: Mapping[str, str] | None = None,
    clock: Callable[[], float] = time.monotonic,
    requests: Sequence[str] = (),
) -> AsyncIterator[Display]:
    """Show a run on `stream`, or the `requests` of a launch.

    `auto` draws on a terminal, and writes plain lines elsewhere, on a dumb or narrow terminal and
    under CI; `none` writes only what is said. A stream of None, or one that breaks, shows nothing.
    """
    environ = os.environ if environ is None else environ
    display = Display(mode, stream, environ=environ, clock=clock, requests=requests)
    try:
        yield display
    finally:
        display.close()


def _plain_lines(boards: Mapping[str | None, Board]) -> "dict[str | None, PlainLines]":
    from agentcompass.progress.plain import PlainLines

    return {name: PlainLines(board) for name, board in boards.items()}


def _drawing(stream: TextIO | None, environ: Mapping[str, str]) -> "LiveDrawing | None":
    ci = environ.get("CI", "").lower() not in ("", "0", "false")
    dumb = environ.get("TERM", "dumb") in ("dumb", "unknown")
    if ci or dumb or stream is None or not stream.isatty():
        return None
    from agentcompass.progress.live import LiveDrawing

    drawing = LiveDrawing(stream)
    return drawing if drawing.fits else None
