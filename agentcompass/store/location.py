"""Where a run goes: decided and checked before anything is made, then reserved for it alone."""

import datetime as dt
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import attrs

from agentcompass.errors import StoreError, UsageError
from agentcompass.records.request import RunRequest
from agentcompass.store.atomic import Disk
from agentcompass.store.layout import LONGEST_NAME, RunLayout, fitted, sanitized

# A generated id that is taken gives way to the next second, so many times.
ID_TRIES = 60


@attrs.frozen
class RunLocation:
    """`results_dir`, the folder names below it, and the run id, None for one from the clock."""

    results_dir: Path
    namespace: tuple[str, ...]
    run_id: str | None = None

    @property
    def parent(self) -> Path:
        """The folder that holds the runs of this namespace."""
        return self.results_dir.joinpath(*self.namespace)


def run_location(results_dir: Path, request: RunRequest) -> RunLocation:
    """Where `request` is written (docs/run-directory.md); looks at no file.

    Raises `UsageError` for a run name or id that could leave the results folder, or is no name.
    """
    namespace = (*_run_name(request.output.run_name), _folder(request))
    return RunLocation(results_dir, namespace, _run_id("--run-id", request.output.run_id))


def _folder(request: RunRequest) -> str:
    """The folder of a request's runs: by its name in an orchestration, else by what it measures."""
    if (name := request.metadata.get("request_name")) is not None:
        if name.strip() in ("", ".", ".."):
            raise UsageError(f"name: {name!r} is not the name of a folder")
        return fitted(sanitized(name))
    ids = (
        sanitized(request.model.id) or "model",
        sanitized(request.benchmark.id) or "benchmark",
        sanitized(request.harness.id) or "none",
    )
    return fitted("_".join(ids))


def reuse_run_id(request: RunRequest) -> str | None:
    """The folder of the run that `request` names to be reused; None for the newest that fits."""
    return _run_id("--reuse", request.runtime.reuse_run_id)


def _run_name(text: str) -> tuple[str, ...]:
    pieces = _pieces("--run-name", text)
    if text and not pieces:
        raise UsageError(f"--run-name: {text!r} is not the name of a folder")
    return tuple(pieces)


def _run_id(option: str, text: str | None) -> str | None:
    if text is None:
        return None
    if not _pieces(option, text):
        raise UsageError(f"{option}: {text!r} is not the name of a folder")
    return _checked(option, sanitized(text))


def _pieces(option: str, text: str) -> list[str]:
    if "\0" in text:
        raise UsageError(f"{option}: {text!r} holds a NUL character")
    pieces = [piece.strip() for piece in re.split(r"[/\\]", text)]
    if ".." in pieces:
        raise UsageError(f"{option}: {text!r} would leave the results folder")
    return [_checked(option, sanitized(piece)) for piece in pieces if piece not in ("", ".")]


def _checked(option: str, name: str) -> str:
    if len(name) > LONGEST_NAME:
        raise UsageError(f"{option}: a folder name has at most {LONGEST_NAME} characters")
    return name


def check_location(location: RunLocation) -> None:
    """Raise `UsageError` where the run could not be written there; leaves nothing behind.

    An existing run of that id, a link on the way, or a folder that cannot be written to; blocking.
    """
    _check_links(location)
    target = location.parent
    if location.run_id is not None and os.path.lexists(target / location.run_id):
        raise _taken(target / location.run_id)
    try:
        with tempfile.TemporaryDirectory(prefix=".probe-", dir=_nearest(target)):
            pass
    except OSError as error:
        raise UsageError(
            f"--results-dir: {target} cannot be written to: {error.strerror or error}"
        ) from error


def _check_links(location: RunLocation) -> None:
    """A link below the results folder could lead out of it; that folder itself may be one."""
    path = location.results_dir
    for name in location.namespace:
        path /= name
        if path.is_symlink():
            raise UsageError(f"--results-dir: {path} is a link; runs are not written through it")


def _nearest(path: Path) -> Path:
    """`path`, or the first folder above it that exists."""
    path = path.absolute()
    while not os.path.lexists(path):
        path = path.parent
    return path


def _taken(path: Path) -> UsageError:
    return UsageError(f"--run-id: {path} already exists; choose another id")


def reserve(location: RunLocation, disk: Disk) -> Path:
    """Make the run directory, which nobody else can then have, and return it; blocking.

    Raises `UsageError` for an id that is taken, `OSError` as the file system does.
    """
    _check_links(location)
    disk.make_folders(location.parent)
    for name in _candidates(location.run_id):
        path = location.parent / name
        try:
            disk.claim_folder(path)
        except FileExistsError:
            continue
        return path.absolute()
    if location.run_id is not None:
        raise _taken(location.parent / location.run_id)
    raise UsageError(f"--run-id: no free id in {location.parent}; give one")


def require_run(run: RunLayout) -> None:
    """Refuse to go on in a run directory that is not there any more, which would make it anew.

    Raises `StoreError`; blocking.
    """
    if not run.run_info.exists():
        raise StoreError(f"{run.directory} was moved or removed while its run went on")


def _candidates(run_id: str | None) -> Iterator[str]:
    if run_id is not None:
        yield run_id
        return
    now = dt.datetime.now().astimezone()
    for seconds in range(ID_TRIES + 1):
        yield (now + dt.timedelta(seconds=seconds)).strftime("%Y%m%d_%H%M%S")
