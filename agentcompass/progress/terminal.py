"""The terminal as a reporter: drawn with rich, as plain lines, or not at all."""

import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal, TextIO

from agentcompass.progress.board import Board
from agentcompass.progress.plain import PlainLines
from agentcompass.progress.text import visible
from agentcompass.progress.writer import Writer
from agentcompass.records.progress import ProgressEvent

if TYPE_CHECKING:
    from agentcompass.progress.live import LiveDrawing

Mode = Literal["auto", "plain", "none"]


class Display:
    """Shows one run on a stream; a `Reporter`. Open it by `terminal`."""

    def __init__(
        self,
        mode: Mode,
        stream: TextIO | None,
        *,
        environ: Mapping[str, str],
        clock: Callable[[], float],
    ) -> None:
        self._stream = stream
        self._clock = clock
        self._board = Board()
        self._lock = threading.Lock()  # the board is folded here and drawn in the writer
        self._drawing = _drawing(stream, environ) if mode == "auto" else None
        self._lines = PlainLines(self._board) if mode != "none" and not self._drawing else None
        self._writer = Writer(self._draw if self._drawing else None)

    def emit(self, event: ProgressEvent) -> None:
        """Take note of an event; never blocks, never raises."""
        now = self._clock()
        with self._lock:
            self._board.apply(event, now)
            line = self._lines.line(event, now) if self._lines else None
        if line is not None:
            self.say(line)

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
        if self._drawing is None or self._board.began is None:
            return
        with self._lock:
            frame = self._drawing.frame(self._board, self._clock())
        self._drawing.draw(frame)  # not under the lock: a terminal may stall, `emit` must not


@asynccontextmanager
async def terminal(
    mode: Mode,
    stream: TextIO | None,
    *,
    environ: Mapping[str, str] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> AsyncIterator[Display]:
    """Show a run on `stream`.

    `auto` draws on a terminal, and writes plain lines elsewhere, on a dumb or narrow terminal and
    under CI; `none` writes only what is said. A stream of None, or one that breaks, shows nothing.
    """
    environ = os.environ if environ is None else environ
    display = Display(mode, stream, environ=environ, clock=clock)
    try:
        yield display
    finally:
        display.close()


def _drawing(stream: TextIO | None, environ: Mapping[str, str]) -> "LiveDrawing | None":
    ci = environ.get("CI", "").lower() not in ("", "0", "false")
    dumb = environ.get("TERM", "dumb") in ("dumb", "unknown")
    if ci or dumb or stream is None or not stream.isatty():
        return None
    from agentcompass.progress.live import LiveDrawing

    drawing = LiveDrawing(stream)
    return drawing if drawing.fits else None
