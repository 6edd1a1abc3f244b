"""Copies a completed run directory for another program; the source is only read."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentcompass.errors import RecordCorrupt, UsageError
from agentcompass.exporting import peer
from agentcompass.exporting.attempts import Source
from agentcompass.records.convert import structure_record, unstructure
from agentcompass.records.metrics import MetricReport
from agentcompass.records.run_info import RUN_INFO_SCHEMA
from agentcompass.store.atomic import Disk, named_errors, read_record, write_record
from agentcompass.store.encode import decode, dump
from agentcompass.store.layout import RunLayout
from agentcompass.summarizing.recorded import Recorded, read_run
from agentcompass.summarizing.report import report_on

_UNFINISHED = {"cancelled": "was cancelled", "timed_out": "timed out"}
_PLAN_EVENT = b'"execution_plan_resolved"'


def write_copy(source: Source, folder: Path) -> Path:
    """Fill `folder` with a copy of the run that the peer reads, and return it; blocking.

    Raises `UsageError` where a copy would not give the numbers of the run, and `StoreError` where
    something cannot be read.
    """
    _check_whole(read_run(source.directory), source.directory)
    _copy(RunLayout(source.directory), folder, source.go_on)
    return folder


def _check_whole(run: Recorded, directory: Path) -> None:
    """Refuse a run of which the peer would count other tasks than we do.

    It keeps no record of what was selected: a task that did not finish does not exist for it.
    """
    if run.info.schema_version != RUN_INFO_SCHEMA:
        raise UsageError(f"{directory}: the peer cannot summarize {run.info.schema_version}")
    if run.info.status not in ("completed", "failed"):
        how = _UNFINISHED.get(str(run.info.status), "has not ended")
        raise UsageError(f"{directory}: the run {how}; --reuse completes it in a new one")
    report_on(run, {})  # leaves out what is readable and does not count
    if fault := _fault(run):
        raise UsageError(f"{directory}: the copy would lack a task: {fault}")


def _fault(run: Recorded) -> str:
    """The first task that the peer would not see, or an empty string."""
    if run.left_out:
        return run.left_out[0]
    if run.info.unsaved_tasks:
        return f"{run.info.unsaved_tasks[0]!r} could not be written"
    for task_id in run.info.task_ids or run.observed:
        if task_id not in run.observed:
            return f"{task_id!r} did not finish"
        if task_id.encode("utf-8", "replace").decode() != task_id:
            return f"the peer cannot name {task_id!r}, which is not valid Unicode"
    return "" if run.observed else "none has finished"


def _copy(layout: RunLayout, folder: Path, go_on: Callable[[], object]) -> None:
    def copy_file(source: Any, target: Any) -> None:
        go_on()
        with named_errors(Path(source)):
            shutil.copy2(source, target, follow_symlinks=False)

    rewrite: dict[Path, Callable[[Path, Path], None]] = {
        layout.run_info: _rewrite_run_info,
        layout.params: _rewrite_params,
        layout.metrics: _rewrite_metrics,
        layout.events: _rewrite_events,
    }
    for path in sorted(layout.directory.iterdir()):
        # Hidden is what a crash left half written, and what tells which sandboxes are open.
        if path.is_file() and not path.is_symlink() and not path.name.startswith("."):
            write = rewrite.get(path) or copy_file
            write(path, folder / path.name)
    for state, path in layout.task_folders():
        if state != "running":
            target = folder / path.relative_to(layout.directory)
            shutil.copytree(path, target, symlinks=True, copy_function=copy_file)


def _rewrite_run_info(source: Path, target: Path) -> None:
    write_record(Disk(), target, peer.run_info(read_record(source)), sort_keys=True)


def _rewrite_params(source: Path, target: Path) -> None:
    record = read_record(source)
    if not isinstance(record, dict):
        raise RecordCorrupt(f"{source}: expected an object")
    write_record(Disk(), target, peer.params(record), sort_keys=True)


def _rewrite_metrics(source: Path, target: Path) -> None:
    report = structure_record(read_record(source), MetricReport, source=str(source))
    write_record(Disk(), target, peer.metrics(unstructure(report)), sort_keys=True)


def _rewrite_events(source: Path, target: Path) -> None:
    with source.open("rb") as lines, target.open("wb") as copy:
        copy.writelines(_event(line, str(source)) for line in lines)


def _event(line: bytes, source: str) -> bytes:
    if _PLAN_EVENT not in line:
        return line
    try:
        return dump(peer.event(decode(line, source=source)), indent=False)
    except RecordCorrupt:
        return line  # a crash cut it off
