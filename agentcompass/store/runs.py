"""Opens a run: reserves its directory, and has log and progress written as long as it is open."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from agentcompass import deadlines
from agentcompass._version import __version__
from agentcompass.errors import UsageError
from agentcompass.groups import bare_errors
from agentcompass.progress.event_file import EventFile
from agentcompass.progress.journal import Journal
from agentcompass.progress.tracker import Tracker
from agentcompass.records.atif import AtifAgent
from agentcompass.records.request import RunRequest
from agentcompass.store.atomic import Disk, named_errors
from agentcompass.store.layout import RunLayout
from agentcompass.store.location import RunLocation, reserve
from agentcompass.store.log import run_log
from agentcompass.store.owner import this_process
from agentcompass.store.provenance import Provenance, request_document
from agentcompass.store.redact import Redactor
from agentcompass.store.resources import warn_of_left_overs
from agentcompass.store.run_store import RunStore
from agentcompass.store.tasks import TaskFiles

# File work at the same time. One waits for the disk while another one prepares what to write; more
# of them would only fight for the interpreter.
WRITERS = 2
# How long the last events of a run may take to be written, however it ended.
LAST_WORDS_SECONDS = 10.0


@asynccontextmanager
async def open_run(
    location: RunLocation,
    *,
    request: RunRequest,
    redactor: Redactor,
    cleanup: deadlines.CleanupClock,
    file_log_level: str = "DEBUG",
    log_file: str | None = None,
    disk: Disk | None = None,
) -> AsyncIterator[RunStore]:
    """Reserve the run directory and write run_info.json; what was emitted is on disk at the end.

    `log_file` gets the lines of run.log as well. After a cancellation progress is written for as
    long as `cleanup` lasts. Raises `UsageError` for a directory that is taken or a log file that
    cannot be opened, `StoreError` where nothing can be written. What the body raises leaves as it
    is, in no group.
    """
    disk = Disk() if disk is None else disk
    limiter = trio.CapacityLimiter(WRITERS)
    copies = [] if log_file is None else [Path(log_file)]
    directory = await trio.to_thread.run_sync(_prepare, location, copies, disk, limiter=limiter)
    store = _store(directory, request, redactor, disk, limiter)
    with run_log(store.layout.log, *copies, level=file_log_level, redactor=redactor):
        try:
            with bare_errors():
                async with trio.open_nursery(strict_exception_groups=True) as nursery:
                    nursery.start_soon(store.journal.run, cleanup, name="progress")
                    nursery.start_soon(store.fold_plans, name="run_info")
                    try:
                        with deadlines.cleanup(cleanup):  # a cancelled run is ended by the body
                            await store.update_run_info(owner=this_process())
                            await trio.to_thread.run_sync(
                                warn_of_left_overs, location.results_dir, limiter=limiter
                            )
                        yield store
                    finally:
                        store.journal.stop()
                        nursery.cancel_scope.cancel()
        finally:
            with deadlines.cleanup(deadlines.CleanupClock(LAST_WORDS_SECONDS)):
                await store.journal.finish()


def _prepare(location: RunLocation, log_files: list[Path], disk: Disk) -> Path:
    for path in log_files:
        try:
            disk.make_folders(path.parent)
            path.open("ab").close()
        except OSError as error:
            raise UsageError(f"log_file: {path} cannot be opened: {error.strerror}") from error
    with named_errors(location.parent):
        return reserve(location, disk)


def _store(
    directory: Path,
    request: RunRequest,
    redactor: Redactor,
    disk: Disk,
    limiter: trio.CapacityLimiter,
) -> RunStore:
    layout, run_id = RunLayout(directory), directory.name
    tracker = Tracker(
        run_id, request.benchmark.id, request.harness.id, request.environment.id, request.model.id
    )
    journal = Journal(
        events=EventFile(path=layout.events, redactor=redactor, disk=disk),
        snapshot_file=layout.progress,
        tracker=tracker,
        redactor=redactor,
        disk=disk,
        limiter=limiter,
    )
    return RunStore(
        layout=layout,
        tasks=TaskFiles(layout=layout, redactor=redactor, agent=_agent(request, run_id)),
        journal=journal,
        provenance=Provenance(run_id, request_document(request, run_id, redactor), redactor),
        disk=disk,
        limiter=limiter,
    )


def _agent(request: RunRequest, run_id: str) -> AtifAgent:
    model = request.model.id or None
    return AtifAgent(
        name=request.harness.id, version=__version__, model_name=model, session_id=run_id
    )
