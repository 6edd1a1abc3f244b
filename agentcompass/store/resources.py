"""The journal of what outlives a run: one file for each open sandbox, taken away with it."""

import logging
import os
import uuid
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import attrs
import trio

from agentcompass.errors import StoreError
from agentcompass.store.atomic import Disk, named_errors, read_record, write_record
from agentcompass.store.layout import RESOURCES
from agentcompass.store.owner import is_alive, this_process
from agentcompass.store.provenance import now

SCHEMA = "agentcompass.environment_resource.v1"

log = logging.getLogger(__name__)


@attrs.define(eq=False, kw_only=True)
class ResourceFile:
    """See `protocols.Resource`; its file, named by `id`, is there while the sandbox may be."""

    run_directory: Path
    provider: str
    task_id: str
    attempt: int
    disk: Disk
    limiter: trio.CapacityLimiter
    owner: str = attrs.field(factory=this_process)
    _record: dict[str, Any] = attrs.field(factory=dict, init=False)

    @cached_property  # made up when it is asked for: many sandboxes have no entry
    def id(self) -> str:
        """What no other entry is called."""
        return uuid.uuid4().hex

    @property
    def directory(self) -> str:
        """The run directory, absolute."""
        return str(self.run_directory)

    @property
    def path(self) -> Path:
        """The file."""
        return self.run_directory / RESOURCES / f"{self.id}.json"

    async def opened(self, close_params: Mapping[str, Any]) -> None:
        """Write the file; raises `StoreError`."""
        self._record = {
            "schema_version": SCHEMA,
            "provider": self.provider,
            "state": "active",
            "task_id": self.task_id,
            "attempt": self.attempt,
            "created_at": now(),
            "owner": self.owner,
            "close_params": dict(close_params),
        }
        await self._write("active")

    async def releasing(self) -> None:
        """Write the new state."""
        await self._write("releasing")

    async def release_failed(self, error: str) -> None:
        """Write the new state, and why."""
        await self._write("release_failed", error=error)

    async def released(self) -> None:
        """Take the file away."""
        await trio.to_thread.run_sync(forget, self.path, limiter=self.limiter)

    async def _write(self, state: str, **more: str) -> None:
        self._record.update(state=state, updated_at=now(), **more)
        await trio.to_thread.run_sync(
            save, self.disk, self.path, dict(self._record), limiter=self.limiter
        )


def save(disk: Disk, path: Path, record: Mapping[str, Any]) -> None:
    """Write an entry; blocking. Raises `StoreError`."""
    with named_errors(path):
        disk.make_folders(path.parent)
    write_record(disk, path, record)


def forget(path: Path) -> None:
    """Take an entry away, and the folder with the last one; blocking."""
    with named_errors(path):
        path.unlink(missing_ok=True)
        if path.parent.is_dir() and not any(path.parent.iterdir()):
            path.parent.rmdir()


def read_resources(folder: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Every entry below `folder`, oldest run first; one that is broken is said and passed over.

    Blocking. Nothing below `details/` is looked at: that is the tasks' own.
    """
    for where, names, _ in os.walk(folder):
        if RESOURCES in names:
            yield from _entries(Path(where) / RESOURCES)
        names[:] = sorted(set(names) - {RESOURCES, "details"})


def _entries(folder: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    for path in sorted(folder.glob("*.json")):
        try:
            record = read_record(path)
        except StoreError as error:
            log.warning("%s; passed over, and may be deleted", error)
            continue
        if _is_entry(record):
            yield path, record
        elif record is not None:
            log.warning(
                "%s: not an entry of this version (%s); passed over, and may be deleted",
                path,
                SCHEMA,
            )


def _is_entry(record: Any) -> bool:
    return (
        isinstance(record, dict)
        and record.get("schema_version") == SCHEMA
        and isinstance(record.get("provider"), str)
        and isinstance(record.get("owner", ""), str)
        and isinstance(record.get("close_params", {}), dict)
    )


def warn_of_left_overs(folder: Path) -> None:
    """Say what earlier runs below `folder` left open; what belongs to a live one is its own."""
    left = [
        path for path, record in read_resources(folder) if not is_alive(record.get("owner", ""))
    ]
    if left:
        log.warning(
            "%d environments of earlier runs are still open; see `agentcompass env list %s`, and"
            " close them with `agentcompass env close %s --all`",
            len(left),
            folder,
            folder,
        )
