"""A data set into its folder: whole, as it is pinned, or not at all."""

import errno
import fcntl
import logging
import os
import shutil
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import trio

from agentcompass.datasets.check import differences, inventory
from agentcompass.datasets.git_tree import fetch_tree
from agentcompass.datasets.place import Place, read_marker, write_marker
from agentcompass.errors import DataUnavailable
from agentcompass.records.data_set import DataFile, GitTree

# Seconds between tries of which none brings anything; one that does starts the row anew.
PAUSES = (1.0, 3.0, 9.0)
_LOCK_SECONDS = 0.2

log = logging.getLogger(__name__)


async def fetch(place: Place, *, again: bool = False, pauses: Sequence[float] = PAUSES) -> None:
    """Fetch the data set unless it is there; `again` replaces what was fetched before.

    Bounded by the caller's deadline; what came of files until then is used the next time. Raises
    `DataUnavailable` with the reason and what to do by hand, and never touches a folder that the
    user filled.
    """
    try:
        with _named_errors(place):
            place.data_dir.mkdir(parents=True, exist_ok=True)
            async with _alone(place.data_dir):
                if await trio.to_thread.run_sync(_is_wanted, place, again):
                    await _fetch(place, pauses)
    except DataUnavailable as error:
        raise DataUnavailable(
            f"data set {place.data_set.id!r} cannot be fetched: {error}; {place.by_hand()}"
        ) from error


def require_unchanged(place: Place) -> None:
    """Raise `DataUnavailable` where a fetched data set was changed, by names and sizes."""
    marker = read_marker(place.target)
    if marker is None:
        return
    if faults := differences(place.target, marker["files"], content=False):
        more = f" and {len(faults) - 1} more" if len(faults) > 1 else ""
        raise DataUnavailable(
            f"data set {place.data_set.id!r} in {place.target} is not what was fetched:"
            f" {faults[0]}{more}; fetch it anew by `agentcompass data fetch --again"
            f" {place.data_set.id}`"
        )


def _is_wanted(place: Place, again: bool) -> bool:
    state = place.state()
    if state == "your own":
        raise DataUnavailable(
            f"{place.target} holds files that were not fetched, and stays as it is; move it away"
        )
    if state == "complete" and not again:
        log.info("data set %s is in %s already", place.data_set.id, place.target)
        return False
    return True


async def _fetch(place: Place, pauses: Sequence[float]) -> None:
    data_set, source = place.data_set, place.data_set.source
    log.info(
        "fetching data set %s, revision %s, from %s into %s",
        *(data_set.id, data_set.revision, data_set.homepage, place.target),
    )
    if isinstance(source, GitTree):
        await trio.to_thread.run_sync(_clear, place.staging)
        await fetch_tree(source, place.staging)
    else:
        await _fetch_files(source, place, pauses)
    await trio.to_thread.run_sync(_complete, place)
    log.info("data set %s is complete: %s", data_set.id, data_set.checksum)


async def _fetch_files(files: tuple[DataFile, ...], place: Place, pauses: Sequence[float]) -> None:
    from agentcompass.datasets.http_file import Download, client, fetch_file, reporter

    await trio.to_thread.run_sync(_require_space, files, place)
    try:
        async with client() as http:
            for file in files:
                progress = reporter(f"{place.data_set.id}/{file.name}", file.size)
                download = Download(
                    file=file, folder=place.staging, progress=progress, pauses=pauses
                )
                await fetch_file(http, download)
    finally:
        with suppress(OSError):  # not empty: what has arrived is used the next time
            place.staging.rmdir()


def _require_space(files: tuple[DataFile, ...], place: Place) -> None:
    place.staging.mkdir(exist_ok=True)
    _tidy(place.staging, {file.name for file in files})
    there = sum(path.stat().st_size for path in place.staging.rglob("*") if path.is_file())
    needed = sum(file.size for file in files) - there
    if needed > (free := shutil.disk_usage(place.staging).free):
        raise DataUnavailable(f"{place.data_dir} has {free} bytes free, and {needed} are needed")


def _tidy(staging: Path, names: Collection[str]) -> None:
    """Remove what an earlier revision left."""
    for path in staging.rglob("*"):
        name = path.relative_to(staging).as_posix()
        if path.is_file() and name.removesuffix(".etag").removesuffix(".partial") not in names:
            path.unlink()


def _complete(place: Place) -> None:
    """Give the fetched folder its name; a crash before leaves what was there, or nothing."""
    write_marker(place.staging, place.data_set, inventory(place.staging))
    _clear(place.aside)
    if place.target.exists():
        place.target.rename(place.aside)
    place.staging.rename(place.target)
    _clear(place.aside)


def _clear(folder: Path) -> None:
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)


@asynccontextmanager
async def _alone(folder: Path) -> AsyncIterator[None]:
    """Only one fetch into `folder` at once, also of other processes; no file is left of it."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        told = False
        while not _lock(handle):
            if not told:
                log.info("waiting for another fetch into %s", folder)
            told = True
            await trio.sleep(_LOCK_SECONDS)
        yield
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        log.debug("a folder that cannot be locked: %s", error)
    return True


@contextmanager
def _named_errors(place: Place) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = error.filename or place.data_dir
        full = ": make room, what has arrived is kept" if error.errno == errno.ENOSPC else ""
        raise DataUnavailable(f"{where}: {error.strerror or error}{full}") from error
