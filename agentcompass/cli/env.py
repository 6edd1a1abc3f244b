"""`agentcompass env`: what runs left open on their environments, and how it is closed."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import asyncclick as click

from agentcompass.cli.output import emit, tell
from agentcompass.errors import AgentCompassError, UsageError

if TYPE_CHECKING:
    from agentcompass.cli.left_overs import LeftOver

_FOLDER = click.argument(
    "folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path, exists=True)
)


@click.group("env")
async def env() -> None:
    """Find and close sandboxes that outlived their run."""


@env.command("list")
@_FOLDER
async def list_env(folder: Path | None) -> None:
    """Print a JSON array of the open sandboxes of the runs in DIR, searched recursively.

    They are found by the runs' journals and by the labels on the Docker Engine. Without DIR that
    is the folder `results`, and whatever has a label.
    """
    from agentcompass.cli.left_overs import find

    emit(json.dumps([entry.shown() for entry in await find(folder)], indent=2, ensure_ascii=False))


@env.command("close")
@_FOLDER
@click.option("--all", "close_all", is_flag=True, help="Close all whose run is over.")
@click.option("--id", "ids", multiple=True, metavar="ID", help="Close this one; repeatable.")
async def close_env(folder: Path | None, close_all: bool, ids: tuple[str, ...]) -> int:
    """Close open sandboxes of the runs in DIR; exit code 0 when all of them are closed."""
    from agentcompass.cli.left_overs import find

    if close_all == bool(ids):
        raise UsageError("env close: give --all, or --id once or more")
    found = {entry.id: entry for entry in await find(folder)}
    if unknown := [name for name in ids if name not in found]:
        raise UsageError(
            f"--id: {', '.join(unknown)} is not open here; see `agentcompass env list`"
        )
    if close_all and not found:
        tell("nothing to close")
    chosen = [entry for name, entry in found.items() if close_all or name in ids]
    return await _close([entry for entry in chosen if ids or not _in_use(entry)], len(chosen))


def _in_use(entry: "LeftOver") -> bool:
    if entry.is_in_use is False:
        return False
    why = "its run is at work" if entry.is_in_use else "it cannot be known whether its run is over"
    tell(f"left open, since {why}: {entry.id} (close it with --id {entry.id})")
    return True


async def _close(entries: Sequence["LeftOver"], wanted: int) -> int:
    from agentcompass.cli.left_overs import close

    closed = 0
    for entry in entries:
        try:
            await close(entry)
        except AgentCompassError as error:
            tell(f"not closed: {entry.id}: {error}")
        else:
            closed += 1
            tell(f"closed: {entry.id} ({entry.record.get('task_id')})")
    return 0 if closed == wanted else 1
