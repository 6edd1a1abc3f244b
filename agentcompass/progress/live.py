"""Progress drawn on a terminal with rich: a bar, counts, and what runs right now."""

from collections.abc import Mapping
from typing import TextIO

from rich.cells import cell_len, set_cell_size
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from agentcompass.progress.board import Board
from agentcompass.progress.text import duration, visible

ROWS = 10  # running tasks that are shown
NARROWEST = 30
LONGEST_NAME = 30  # of a request; what is longer is cut


class LiveDrawing:
    """A drawing at the bottom of a terminal, below the lines that are said meanwhile."""

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream, highlight=False)
        self._live = Live(
            console=self._console,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._begun = False

    @property
    def fits(self) -> bool:
        """Whether the terminal is wide enough to draw on."""
        return self._console.width >= NARROWEST

    def frame(self, boards: Mapping[str | None, Board], now: float) -> RenderableType:
        """The boards as they are now, with no more rows than the terminal has room for."""
        height = self._console.height
        if None not in boards:
            return render_requests(boards, now, rows=max(2, height - 2))
        board = boards[None]
        return render(board, now, rows=max(0, min(ROWS, height - 6 - len(board.traffic))))

    def draw(self, frame: RenderableType) -> None:
        """Show a frame; the first one begins the drawing."""
        if not self._begun:
            self._begun = True
            self._live.start()
        self._live.update(frame, refresh=True)

    def say(self, line: str) -> None:
        """Print a line above the drawing."""
        self._console.print(Text(line), soft_wrap=True)

    def close(self) -> None:
        """Leave the last state on the terminal, and the terminal as it was."""
        if self._begun:
            self._live.stop()


def render(board: Board, now: float, *, rows: int = ROWS) -> RenderableType:
    """The board as lines for a terminal of any width."""
    parts: list[RenderableType] = [_headline(board, now), _bar(board)]
    if board.running:
        parts.append(_running(board, now, rows))
    parts.extend(_traffic(board))
    if board.failures:
        parts.append(_failures(board))
    return Group(*parts)


def render_requests(boards: Mapping[str | None, Board], now: float, *, rows: int) -> RenderableType:
    """A line for each request; where there are too many, those that run before the others."""
    shown = [(visible(str(name)), board) for name, board in boards.items()]
    if len(shown) > rows:
        shown.sort(key=lambda entry: not _is_running(entry[1]))
        shown = shown[: rows - 1]
    width = min(LONGEST_NAME, max(cell_len(name) for name, _ in shown))
    lines = [_request(set_cell_size(name, width), board, now) for name, board in shown]
    more = len(boards) - len(shown)
    return Group(*lines, *([Text(f"and {more} more", style="dim")] if more else []))


def _request(name: str, board: Board, now: float) -> Text:
    status = "waiting" if board.status == "created" else board.status.replace("_", " ")
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(name, style="bold").append(f"  {status:<11}  ")
    if board.began is not None:
        line.append_text(_counts(board)).append(f"  {duration(board.elapsed(now))}", style="dim")
    return line.append(f"  {visible(board.error)}" if board.error else "", style="red")


def _is_running(board: Board) -> bool:
    return board.began is not None and board.ended is None


def _headline(board: Board, now: float) -> RenderableType:
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(visible(board.title), style="bold")
    line.append(f"  {board.status.replace('_', ' ')}  {duration(board.elapsed(now))}")
    return line


def _bar(board: Board) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(max_width=30)
    grid.add_column(no_wrap=True, overflow="ellipsis")
    bar = ProgressBar(
        total=max(1, board.total),
        completed=board.finished,
        width=20,
        complete_style="cyan",
        finished_style="green",
    )
    grid.add_row(bar, _counts(board))
    return grid


def _counts(board: Board) -> Text:
    text = Text(f"{board.finished}/{board.total}")
    for number, what, style in (
        (len(board.running), "running", "cyan"),
        (board.failed, "failed", "red"),
        (board.with_errors, "with errors", "yellow"),
        (board.retries, "retries", "yellow"),
        (board.reused, "reused", ""),
        (board.skipped, "skipped", ""),
    ):
        if number:
            text.append(f"  {number} {what}", style=style)
    return text


def _running(board: Board, now: float, rows: int) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    table.add_column(no_wrap=True, style="dim")
    table.add_column(no_wrap=True, justify="right", style="dim")
    oldest = sorted(board.running.items(), key=lambda entry: entry[1].since)
    for task_id, task in oldest[:rows]:
        name = visible(task_id) + (f"#{task.attempt}" if task.attempt else "")
        table.add_row(Text(name), Text(task.phase), duration(now - task.since))
    if len(oldest) > rows:
        table.add_row(Text(f"and {len(oldest) - rows} more", style="dim"), "", "")
    return table


def _traffic(board: Board) -> list[RenderableType]:
    """A line for each endpoint that had no room, in yellow as long as it is given fewer calls."""
    return [
        Text(
            f"model at {visible(endpoint)}: {traffic.text}",
            style="yellow" if traffic.is_reduced else "dim",
            no_wrap=True,
            overflow="ellipsis",
        )
        for endpoint, traffic in board.traffic.items()
    ]


def _failures(board: Board) -> RenderableType:
    shown = [visible(name) for name in board.failures]
    more = board.failed - len(shown)
    names = ", ".join(reversed(shown)) + (f" and {more} more" if more else "")
    return Text(f"failed: {names}", style="red", no_wrap=True, overflow="ellipsis")
