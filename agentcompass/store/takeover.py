"""Copies what an earlier run holds of a task into this run, which then stands alone. Blocking.

Artifacts, which are never changed again, are linked where the file system can.
"""

import logging
import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

import attrs

from agentcompass.as_owner import AsOwner
from agentcompass.errors import StoreError
from agentcompass.records.attempt import AttemptResult, TaskHeader
from agentcompass.records.issue import highest_severity
from agentcompass.records.reuse import TakenOver
from agentcompass.store.atomic import Disk, named_errors, replace_file, write_record
from agentcompass.store.documents import (
    checkpoint_document,
    index_document,
    published_document,
)
from agentcompass.store.earlier_run import Judge, Stored
from agentcompass.store.encode import decode, encode
from agentcompass.store.layout import AttemptLayout, RunLayout, state_of
from agentcompass.store.redact import Redactor
from agentcompass.store.repoint import repointed, without_scheduler

log = logging.getLogger(__name__)


@attrs.frozen(kw_only=True)
class TaskTakeover:
    """Writes into one run what it takes over from others."""

    layout: RunLayout
    redactor: Redactor
    disk: Disk

    def take_over(self, header: TaskHeader, found: Mapping[int, Stored], judge: Judge) -> TakenOver:
        """Copy the attempts of a task; it is published where they leave nothing to do.

        Otherwise it is as if they had been run here. Raises `StoreError`.
        """
        results = {
            number: stored.result
            for number, stored in found.items()
            if stored.result is not None and stored.verdict == "keep"
        }
        published = judge.completes(header.attempt_plan, results)
        numbers = sorted(results if published else found)
        severity = highest_severity(i for result in results.values() for i in result.issues)
        work = self.layout.task(header.task_id, "running")
        final = self.layout.task(header.task_id, state_of(severity)) if published else work
        for number in numbers:
            self._copy(found[number], work.attempt(number), final.attempt(number))
        index = (
            published_document(header, numbers, self.redactor)
            if published
            else index_document(header.task_id, numbers)
        )
        write_record(self.disk, work.index, index)
        if published:
            with named_errors(final.directory):
                self.disk.make_folders(final.directory.parent)
                self.disk.rename(work.directory, final.directory)
        return TakenOver(
            kept={number: _without_content(results[number]) for number in sorted(results)},
            resumable=frozenset(() if published else found.keys() - results.keys()),
            published=published,
        )

    def _copy(self, stored: Stored, target: AttemptLayout, final: AttemptLayout) -> None:
        """Copy one attempt to `target`; its records say that it is at `final`."""
        source = stored.layout
        before = source.directory.relative_to(stored.run.layout.directory).as_posix()
        after = final.directory.relative_to(self.layout.directory).as_posix()
        with named_errors(target.directory):
            self.disk.make_folders(target.directory)
            if source.artifacts.is_dir() and not source.artifacts.is_symlink():
                with AsOwner() as owner:
                    _link_tree(source.artifacts, target.artifacts, owner)
        checkpoint = repointed(_checkpoint(source), before, after)
        replace_file(self.disk, target.checkpoint, checkpoint)
        if stored.verdict == "keep":
            with named_errors(source.result):
                data = repointed(source.result.read_bytes(), before, after)
            replace_file(self.disk, target.result, _with_history(data, stored))


def _checkpoint(source: AttemptLayout) -> bytes:
    if not source.checkpoint.exists():
        return encode(checkpoint_document())
    try:
        with named_errors(source.checkpoint):
            return without_scheduler(source.checkpoint.read_bytes())
    except StoreError as error:
        log.warning("not taken over: %s", error)
        return encode(checkpoint_document())


def _with_history(data: bytes, stored: Stored) -> bytes:
    """A result that says which run executed it, and with how many retries there."""
    record = decode(data, source=str(stored.layout.result))
    history = {"source_run": stored.run.info.run_id, "retry_count": record["retry_count"]}
    record["artifacts"].setdefault("reuse_history", history)
    record["retry_count"] = 0
    return encode(record)


def _link_tree(source: Path, target: Path, owner: AsOwner) -> None:
    mode = source.stat().st_mode
    owner.lend(source)
    target.mkdir()
    with os.scandir(source) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                _link_tree(source / entry.name, target / entry.name, owner)
            else:
                _link_or_copy(source / entry.name, target / entry.name)
    target.chmod(stat.S_IMODE(mode))


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:  # another file system, or one without links
        shutil.copy2(source, target, follow_symlinks=False)


def _without_content(result: AttemptResult) -> AttemptResult:
    """What counting needs of a result; the rest is on disk."""
    return attrs.evolve(result, final_answer=None, trajectory={}, artifacts={}, meta={})
