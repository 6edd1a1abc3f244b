"""Changes to the files of tasks, made together: those that gather while others are being made.

A visit to a thread and a journal of the file system then serve many of them.
"""

import resource
import sys
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import attrs
import outcome
import trio

from agentcompass.store.atomic import Disk, Replacements, named_errors

T = TypeVar("T")
Outcome = outcome.Value[Any] | outcome.Error

_MOST = 64  # changes made together
_MOST_OPEN = 128  # files that wait together to be replaced; those of one more change may join
_ROOM = 8  # of the files that the process may have open, one in so many is left to others


@attrs.define(eq=False)
class _Change:
    """What is to be done to the files of a task, and what became of it.

    Its `caller` is woken once it has been made, or to make the next ones.
    """

    task_id: str
    work: Callable[[Replacements], Any]
    caller: trio.lowlevel.Task = attrs.field(factory=trio.lowlevel.current_task)
    made: Outcome | None = None


@attrs.define(eq=False, kw_only=True)
class Commits:
    """Makes changes in the order in which they come, several at once; two of one task never.

    `check` is called before, in the thread, and refuses all of them by raising `StoreError`.
    """

    directory: Path
    disk: Disk
    limiter: trio.CapacityLimiter
    check: Callable[[], None]
    _waiting: deque[_Change] = attrs.field(factory=deque, init=False)
    _is_led: bool = attrs.field(default=False, init=False)

    async def make(self, task_id: str, work: Callable[[Replacements], T]) -> T:
        """What `work` returns, once what it adds to its files is durable and in its place.

        Raises `StoreError`. What has begun is not cancelled: it is waited for, as a thread is.
        """
        change = _Change(task_id, work)
        self._waiting.append(change)
        if self._is_led:
            await self._wait(change)
        if change.made is None:
            await self._lead(change)
        assert change.made is not None, "it is made by whoever leads"
        made: T = change.made.unwrap()
        return made

    async def _wait(self, change: _Change) -> None:
        """Sleep until it is made, or its caller is to lead; cancelled only until it is begun."""

        def abort(_raise_cancel: object) -> trio.lowlevel.Abort:
            if change not in self._waiting:
                return trio.lowlevel.Abort.FAILED
            self._waiting.remove(change)
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(abort)

    async def _lead(self, own: _Change) -> None:
        """Make the first changes that wait, and let the next one lead."""
        self._is_led = True
        batch = self._next_batch()
        try:
            ended = await trio.to_thread.run_sync(self._make, batch, limiter=self.limiter)
        except BaseException:  # before it has begun: cancelled, or there can be no more threads
            self._waiting.extendleft(each for each in reversed(batch) if each is not own)
            self._pass_on()
            raise
        for change, made in zip(batch, ended, strict=True):
            change.made = made
            if change is not own:
                trio.lowlevel.reschedule(change.caller)
        self._pass_on()

    def _pass_on(self) -> None:
        self._is_led = bool(self._waiting)
        if self._waiting:
            trio.lowlevel.reschedule(self._waiting[0].caller)

    def _next_batch(self) -> list[_Change]:
        batch: dict[str, _Change] = {}
        while self._waiting and len(batch) < _MOST and self._waiting[0].task_id not in batch:
            change = self._waiting.popleft()
            batch[change.task_id] = change
        return list(batch.values())

    def _make(self, batch: Sequence[_Change]) -> list[Outcome]:
        """Prepare all of them, sync all, replace all; what fails is that change's alone."""
        may = outcome.capture(self.check)
        if isinstance(may, outcome.Error):
            return [may for _ in batch]
        changes = [_Begun(Replacements(self.disk)) for _ in batch]
        begun, open_files, last_file = 0, 0, _last_file()
        for number, (change, each) in enumerate(zip(batch, changes, strict=True), start=1):
            each.made = outcome.capture(self._prepare, change, each.files)
            open_files += len(each.files)
            is_full = open_files >= _MOST_OPEN or each.files.newest >= last_file
            if is_full or number == len(batch):
                _finish(changes[begun:number])
                begun, open_files = number, 0
        return [each.made for each in changes]

    def _prepare(self, change: _Change, files: Replacements) -> Any:
        with named_errors(self.directory):
            return change.work(files)


@attrs.define(eq=False)
class _Begun:
    """A change whose files are written beside those that they replace, or that has failed."""

    files: Replacements
    made: Outcome = attrs.field(init=False)


def _last_file() -> int:
    """The number of an open file from which on no more should be; all below it are taken then."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit - limit // _ROOM


def _finish(begun: Sequence[_Begun]) -> None:
    """Sync and replace what was prepared; what fails leaves nothing behind."""
    for step in (Replacements.start_sync, Replacements.sync, Replacements.finish):
        for each in begun:
            if isinstance(each.made, outcome.Value):
                ended = outcome.capture(step, each.files)
                each.made = ended if isinstance(ended, outcome.Error) else each.made
    for each in begun:
        each.files.discard()
