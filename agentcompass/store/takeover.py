"""Copies what an earlier run holds of a task into this run, which then stands alone. Blocking.

Artifacts, and records in which nothing changes, are linked where the file system can: no run
changes them again, and what is linked was made durable by the run that wrote it.
"""

import errno
import logging
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import attrs

from agentcompass.as_owner import AsOwner, open_as_owner
from agentcompass.errors import StoreError
from agentcompass.records.attempt import AttemptResult, TaskHeader, severity_of
from agentcompass.records.reuse import TakenOver
from agentcompass.store.atomic import Disk, named_errors, read_file, replace_file
from agentcompass.store.documents import (
    checkpoint_document,
    index_document,
    published_document,
)
from agentcompass.store.earlier_run import Judge, Stored
from agentcompass.store.encode import decode, dump, encode
from agentcompass.store.exchange_file import masked_lines
from agentcompass.store.layout import AttemptLayout, RunLayout, TaskLayout, state_of
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

        Otherwise it is as if they had been run here. One that cannot be read is said and left out;
        raises `StoreError` where nothing can be written.
        """
        if not found:
            return TakenOver()
        results = {
            number: attrs.evolve(stored.result, metrics=judge.counted(stored.result))
            for number, stored in found.items()
            if stored.result is not None and stored.verdict == "keep"
        }
        published = judge.completes(header.attempt_plan, results)
        numbers = sorted(results if published else found)
        severity = severity_of(results)
        work = self.layout.task(header.task_id, "running")
        final = self.layout.task(header.task_id, state_of(severity)) if published else work
        for number in numbers:
            try:
                self._copy(found[number], results.get(number), work, final)
            except _SourceFault as error:
                log.warning("task %s attempt %d is not reused: %s", header.task_id, number, error)
                shutil.rmtree(work.directory, ignore_errors=True)
                rest = {n: stored for n, stored in found.items() if n != number}
                return self.take_over(header, rest, judge)
        index = (
            published_document(header, numbers, self.redactor)
            if published
            else index_document(header.task_id, numbers)
        )
        source = TaskLayout(found[numbers[0]].layout.directory.parent)
        with named_errors(work.index):
            self._put(encode(index), source.index, work.index)
        if published:
            with named_errors(final.directory):
                self.disk.make_folders(final.directory.parent)
                self.disk.rename(work.directory, final.directory)
        return TakenOver(
            kept={number: _without_content(results[number]) for number in sorted(results)},
            resumable=frozenset(() if published else found.keys() - results.keys()),
            published=published,
        )

    def _copy(
        self, stored: Stored, kept: AttemptResult | None, work: TaskLayout, final: TaskLayout
    ) -> None:
        """Copy one attempt to `work`; its records say that it is in `final`."""
        source = stored.layout
        target = AttemptLayout(work.directory / source.directory.name)
        before = source.directory.relative_to(stored.run.layout.directory).as_posix()
        there = final.directory.relative_to(self.layout.directory).as_posix()
        after = f"{there}/{source.directory.name}"
        with named_errors(target.directory):
            self.disk.make_folders(target.directory)
        with _source_errors(source), AsOwner() as owner:
            if source.artifacts.is_dir() and not source.artifacts.is_symlink():
                _link_tree(source.artifacts, target.artifacts, owner)
        self._copy_exchanges(source, target)
        checkpoint = repointed(_checkpoint(source), before, after)
        self._put(self._masked(checkpoint), source.checkpoint, target.checkpoint)
        if kept is not None and stored.record is not None:
            data = dump(_with_history(stored.record, stored, kept.metrics))
            result = self._masked(repointed(data, before, after))
            self._put(result, source.result, target.result)

    def _put(self, data: bytes, source: Path, target: Path) -> None:
        """Make `data` the content of `target`, by a link to `source` where that has the same."""
        with suppress(OSError):  # no such file, another file system, or one without links
            if source.stat().st_size == len(data) and read_file(source) == data:
                self.disk.link(source, target)
                return
        replace_file(self.disk, target, data)

    def _copy_exchanges(self, source: AttemptLayout, target: AttemptLayout) -> None:
        """Copy the recorded calls; not linked, since a retry may append to them."""
        if not source.exchanges.is_file():
            return
        try:
            with named_errors(source.exchanges):
                lines = masked_lines(read_file(source.exchanges), self.redactor)
        except StoreError as error:  # the attempt stands without them
            log.warning("recorded calls are not taken over: %s", error)
            return
        replace_file(self.disk, target.exchanges, lines)

    def _masked(self, data: bytes) -> bytes:
        """A record without what has become known to be secret since it was written."""
        if not self.redactor.known_in(data):
            return data
        return encode(self.redactor.known(decode(data, source="an earlier record")))


class _SourceFault(StoreError):
    """An attempt of an earlier run cannot be read."""


# What a copy fails with that would fail for any source.
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})


@contextmanager
def _source_errors(source: AttemptLayout) -> Iterator[None]:
    try:
        with named_errors(source.directory):
            yield
    except StoreError as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno in _FULL:
            raise
        raise _SourceFault(str(error)) from error


def _checkpoint(source: AttemptLayout) -> bytes:
    if not source.checkpoint.exists():
        return encode(checkpoint_document())
    try:
        with named_errors(source.checkpoint):
            return without_scheduler(read_file(source.checkpoint))
    except StoreError as error:
        log.warning("not taken over: %s", error)
        return encode(checkpoint_document())


def _with_history(
    record: dict[str, Any], stored: Stored, metrics: Mapping[str, bool | float]
) -> dict[str, Any]:
    """A result that says which run executed it, and with how many retries there.

    It has `metrics` only; the others are in its history.
    """
    history = {"source_run": stored.run.info.run_id, "retry_count": record["retry_count"]}
    if others := {name: v for name, v in record["metrics"].items() if name not in metrics}:
        history["undeclared_metrics"] = others
    artifacts = {**record["artifacts"]}
    artifacts.setdefault("reuse_history", history)
    return {**record, "artifacts": artifacts, "metrics": dict(metrics), "retry_count": 0}


def _link_tree(source: Path, target: Path, owner: AsOwner) -> None:
    mode = source.stat().st_mode
    owner.lend(source)
    target.mkdir()
    with os.scandir(source) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                _link_tree(source / entry.name, target / entry.name, owner)
            elif entry.is_symlink() or entry.is_file():
                _link_or_copy(source / entry.name, target / entry.name)
    target.chmod(stat.S_IMODE(mode))


def _link_or_copy(source: Path, target: Path) -> None:
    with suppress(OSError):  # another file system, or one without links
        os.link(source, target, follow_symlinks=False)
        return
    if source.is_symlink():
        target.symlink_to(source.readlink())
        return
    mode = source.stat().st_mode
    with os.fdopen(open_as_owner(source), "rb") as data, target.open("xb") as copy:
        shutil.copyfileobj(data, copy)
    target.chmod(stat.S_IMODE(mode))


def _without_content(result: AttemptResult) -> AttemptResult:
    """What counting needs of a result; the rest is on disk."""
    return attrs.evolve(result, final_answer=None, trajectory={}, artifacts={}, meta={})
