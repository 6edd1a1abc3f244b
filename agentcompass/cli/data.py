"""`agentcompass data`: the public data sets that benchmarks measure on."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import asyncclick as click
import trio

from agentcompass.cli.output import emit, emit_table, tell
from agentcompass.errors import DataUnavailable

if TYPE_CHECKING:
    from agentcompass.datasets.manifest import Listed
    from agentcompass.datasets.place import Place
    from agentcompass.records.data_set import DataSet

_ID = click.argument("data_set_id", metavar="ID")
_DATA_DIR = click.option(
    "--data-dir", metavar="DIR", help="Where data sets are.  [default: data, or as configured]"
)


@click.group("data")
async def data() -> None:
    """List, fetch and check the public data sets of benchmarks."""


@data.command("list")
@_DATA_DIR
async def list_data(data_dir: str | None) -> None:
    """List the data sets: what is here of them, where they are from, and under which licence."""
    from agentcompass.datasets.manifest import listed
    from agentcompass.datasets.place import Place

    where = _folder(data_dir)
    rows = [
        _row(entry.data_set, _state(Place(data_dir=where, data_set=entry.data_set)))
        for entry in listed().values()
    ]
    if rows:
        emit_table(("Id", "Here", "Size", "Revision", "Checksum", "Licence", "Source"), rows)
    else:
        emit("no benchmark here has a public data set")


def _state(place: "Place") -> str:
    try:
        return place.state()
    except DataUnavailable as error:
        tell(f"{place.data_set.id}: {error}")
        return "damaged"


def _row(data_set: "DataSet", state: str) -> tuple[str, ...]:
    size = "not known" if data_set.size is None else f"{data_set.size / 1e6:.1f} MB"
    known = (data_set.revision, data_set.checksum, data_set.licence, data_set.homepage)
    return (data_set.id, state, size, *known)


@data.command("fetch")
@_ID
@_DATA_DIR
@click.option("--again", is_flag=True, help="Replace what was fetched before.")
@click.option(
    "--timeout-seconds",
    type=click.FloatRange(min=0),
    default=3600.0,
    show_default=True,
    help="The whole of it; 0 is no limit. What has arrived until then is used the next time.",
)
async def fetch_data(
    data_set_id: str, data_dir: str | None, again: bool, timeout_seconds: float
) -> None:
    """Fetch the data set ID at its pinned revision, and compare it with the pinned checksum."""
    from agentcompass.datasets.fetch import fetch
    from agentcompass.deadlines import deadline
    from agentcompass.progress.console import console_logging
    from agentcompass.store.redact import Redactor

    _, place = await _find(data_set_id, data_dir)
    with console_logging(tell, "INFO", Redactor()):
        with deadline(timeout_seconds or None, stretch=f"data fetch {data_set_id}"):
            await fetch(place, again=again)
    emit(f"{data_set_id}: {place.target}")


@data.command("check")
@_ID
@_DATA_DIR
async def check_data(data_set_id: str, data_dir: str | None) -> int:
    """Check the data set ID: against its checksums, and row by row; exit code 1 for any fault.

    One that you put there yourself has no checksums; its rows are checked all the same.
    """
    from agentcompass.datasets.review import review

    entry, place = await _find(data_set_id, data_dir)
    faults = await trio.to_thread.run_sync(review, entry, place, abandon_on_cancel=True)
    for fault in faults:
        emit(fault)
    state = await trio.to_thread.run_sync(place.state)
    of = f"revision {place.data_set.revision}" if state == "complete" else state
    verdict = f"{len(faults)} fault{'s' * (len(faults) != 1)}" if faults else "nothing is wrong"
    tell(f"{data_set_id} in {place.target} ({of}): {verdict}")
    return 1 if faults else 0


async def _find(data_set_id: str, data_dir: str | None) -> "tuple[Listed, Place]":
    from agentcompass.datasets.manifest import find
    from agentcompass.datasets.place import Place

    entry = await trio.to_thread.run_sync(find, data_set_id)
    return entry, Place(data_dir=_folder(data_dir), data_set=entry.data_set)


def _folder(data_dir: str | None) -> Path:
    """As `run` has it: the option, else what the configuration says."""
    from agentcompass.config.show import effective_configuration

    if data_dir is None:
        found = effective_configuration((), {}, cwd=Path.cwd(), environ=os.environ)
        data_dir = str(found.tree["runtime"]["data_dir"])
    return Path.cwd() / data_dir
