"""Runs of the scripted world in real run directories, on virtual time."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import attrs

from agentcompass.deadlines import CleanupClock
from agentcompass.engine.job import Store
from agentcompass.engine.tree import run_job
from agentcompass.store.location import run_location
from agentcompass.store.runs import open_run
from agentcompass.summarizing.summarize import summarize
from tests import virtual
from tests.fakes import MemoryStore, World, make_job
from tests.store.disks import QuickDisk


def run_on_disk(folder: Path, world: World, **options: Any) -> Path:
    """Run every task of `world` and return the run directory."""

    async def main() -> Path:
        job = make_job(world, MemoryStore(), **options)
        location = run_location(folder, job.request)

        def open_store(clock: CleanupClock) -> AbstractAsyncContextManager[Store]:
            return open_run(
                location,
                request=job.request,
                redactor=job.redactor,
                cleanup=clock,
                disk=QuickDisk(),
            )

        return (await run_job(attrs.evolve(job, open_store=open_store))).directory

    return virtual.run(main)


def summarized(directory: Path, params: dict[str, Any] | None = None, **options: Any) -> Any:
    """What a dry-run summary returns."""
    settings = {"files": (), "dry_run": True, "environ": {}, **options}
    return summarize(directory, benchmark_params=params or {}, **settings)


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below `folder`."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
