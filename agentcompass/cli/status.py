"""`agentcompass status`: how far a run is, and whether it still goes on."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import asyncclick as click
import trio

from agentcompass.cli.output import emit, tell

if TYPE_CHECKING:
    from agentcompass.progress.plain import PlainLines
    from agentcompass.progress.watched import WatchedRun

T = TypeVar("T")

PAUSE_SECONDS = 0.5  # between two looks at a run that is followed

# A run in any other state goes on, as far as is known.
EXIT_CODES = {"completed": 0, "failed": 1, "stale": 1, "timed_out": 124, "cancelled": 130}


@click.command("status")
@click.argument("run_dir", metavar="RUN_DIR", type=click.Path(path_type=Path))
@click.option("--follow", is_flag=True, help="Print what changes until the run has ended.")
@click.option("--format", type=click.Choice(["text", "json"]), default="text", show_default=True)
async def status(run_dir: Path, follow: bool, format: str) -> int:
    """Tell how far the run in RUN_DIR is, from its files; nothing is written.

    A run without an end on record is running, or stale where its process is gone; of a process on
    another host or in another container that is not known. Exit codes: 0 once that is told; with
    --follow those of the run, 0 completed, 1 failed or stale, 124 timed out, 130 cancelled or
    Ctrl-C.
    """
    from agentcompass.progress.plain import PlainLines
    from agentcompass.progress.watched import watched_run

    run = await _in_thread(lambda: watched_run(run_dir))
    lines = PlainLines(run.board)
    await _in_thread(lambda: sum(1 for _ in _news(run, lines)))
    is_read = _show(run, format)
    if not (follow and is_read):
        return 0
    if run.state == "unknown":
        tell("it is not known whether this run goes on; following until its end is on record")
    return await _follow(run, lines, format)


async def _follow(run: "WatchedRun", lines: "PlainLines", format: str) -> int:
    is_over, is_read = run.state in EXIT_CODES, True
    while is_read and not is_over:
        await trio.sleep(PAUSE_SECONDS)
        news = await _in_thread(lambda: list(_news(run, lines)))
        is_over = run.state in EXIT_CODES
        is_read = all(emit(line) for line in news if line and format == "text")
        if is_read and (is_over or (news and format == "json")):
            is_read = _show(run, format)
    return EXIT_CODES.get(run.state, 0)


async def _in_thread(work: Callable[[], T]) -> T:
    """Ctrl-C does not wait for it: it only reads."""
    return await trio.to_thread.run_sync(work, abandon_on_cancel=True)


def _news(run: "WatchedRun", lines: "PlainLines") -> Iterator[str | None]:
    """For each new event what it is worth on a line."""
    return (lines.line(event, event.timestamp) for event in run.read())


def _show(run: "WatchedRun", format: str) -> bool:
    from agentcompass.cli.run_state import facts, in_words

    found = facts(run)
    if format == "json":
        return emit(json.dumps(found, ensure_ascii=False))
    return emit(in_words(found, run.layout.directory))
