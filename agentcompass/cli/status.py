"""`agentcompass status`: how far a run or a launch is, and whether it still goes on."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import asyncclick as click
import attrs
import trio

from agentcompass.cli.output import emit, tell

if TYPE_CHECKING:
    from agentcompass.progress.plain import PlainLines
    from agentcompass.progress.watched import WatchedRun
    from agentcompass.progress.watched_launch import WatchedLaunch

T = TypeVar("T")

PAUSE_SECONDS = 0.5  # between two looks at a run that is followed

# A run in any other state goes on, as far as is known.
EXIT_CODES = {"completed": 0, "failed": 1, "stale": 1, "timed_out": 124, "cancelled": 130}


@click.command("status")
@click.argument("run_dir", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--follow", is_flag=True, help="Print what changes until the run has ended.")
@click.option("--format", type=click.Choice(["text", "json"]), default="text", show_default=True)
async def status(run_dir: Path, follow: bool, format: str) -> int:
    """Tell how far the run in DIR is, from its files; nothing is written.

    In the results folder of a launch, each of its requests that has begun is told in one row. A run
    without an end on record is running, or stale where its process is gone; of a process on
    another host or in another container that is not known. Exit codes: 0 once that is told; with
    --follow those of the run, 0 completed, 1 failed or stale, 124 timed out, 130 cancelled or
    Ctrl-C; those of a launch once all requests that have begun have ended.
    """
    from agentcompass.progress.watched_launch import WatchedLaunch, watched

    found = await _in_thread(lambda: watched(run_dir))
    shown = LaunchShown(found) if isinstance(found, WatchedLaunch) else RunShown(found)
    await _in_thread(shown.news)
    is_read = shown.show(format)
    if not (follow and is_read):
        return 0
    if "unknown" in shown.states:
        tell("it is not known whether this run goes on; following until its end is on record")
    return await _follow(shown, format)


async def _follow(shown: "RunShown | LaunchShown", format: str) -> int:
    is_over, is_read = shown.states <= EXIT_CODES.keys(), True
    while is_read and not is_over:
        await trio.sleep(PAUSE_SECONDS)
        news = await _in_thread(shown.news)
        is_over = shown.states <= EXIT_CODES.keys()
        is_read = all(emit(line) for line in news if line and format == "text")
        if is_read and (is_over or (news and format == "json")):
            is_read = shown.show(format)
    return max((EXIT_CODES.get(state, 0) for state in shown.states), default=0)


async def _in_thread(work: Callable[[], T]) -> T:
    """Ctrl-C does not wait for it: it only reads."""
    return await trio.to_thread.run_sync(work, abandon_on_cancel=True)


@attrs.define(eq=False)
class RunShown:
    """One run, and what was said of it so far."""

    run: "WatchedRun"
    _lines: "PlainLines" = attrs.field(init=False)

    @_lines.default
    def _new_lines(self) -> "PlainLines":
        from agentcompass.progress.plain import PlainLines

        return PlainLines(self.run.board)

    @property
    def states(self) -> set[str]:
        """How it is by now."""
        return {self.run.state}

    def news(self) -> list[str | None]:
        """For each new event what it is worth on a line."""
        return [self._lines.line(event, event.timestamp) for event in self.run.read()]

    def show(self, format: str) -> bool:
        """Tell all of it; False where nobody reads on."""
        from agentcompass.cli.run_state import facts, in_words

        found = facts(self.run)
        if format == "json":
            return emit(json.dumps(found, ensure_ascii=False))
        return emit(in_words(found, self.run.layout.directory))


@attrs.define(eq=False)
class LaunchShown:
    """The requests of a launch that have begun, and what was said of them so far."""

    launch: "WatchedLaunch"
    _shown: dict[str, RunShown] = attrs.field(factory=dict, init=False)

    @property
    def states(self) -> set[str]:
        """How any of them is by now."""
        return {run.state for run in self.launch.runs.values()}

    def news(self) -> list[str | None]:
        """For each new event of any request what it is worth on a line."""
        from agentcompass.progress.text import visible

        self.launch.look()
        news: list[str | None] = []
        for name, run in self.launch.runs.items():
            lines = self._shown.setdefault(name, RunShown(run)).news()
            news += [line and f"{visible(name)}: {line}" for line in lines]
        return news

    def show(self, format: str) -> bool:
        """Tell all of it; False where nobody reads on."""
        from agentcompass.cli.run_state import facts, in_rows

        found = {name: facts(run) for name, run in self.launch.runs.items()}
        if format == "json":
            launch = {"orchestration_id": self.launch.orchestration_id, "requests": found}
            return emit(json.dumps(launch, ensure_ascii=False))
        return emit(in_rows(found))
