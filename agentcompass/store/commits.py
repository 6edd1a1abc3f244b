"""Changes to the files of tasks, made together: those that gather while others are being made.

A visit to a thread and a journal of the file system then serve many of them.
"""

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


@attrs.define(eq=False)
class _Change:
    """What is to be done to the files of a task, and what became of it.

    `turn` is set once it has been made, or when its own caller is the one to make the next ones.
    """

    task_id: str
    work: Callable[[Replacements], Any]
    turn: trio.Event = attrs.field(factory=trio.Event)
    made: Outcome | None = None
    is_withdrawn: bool = False


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

        Raises `StoreError`. A change that has begun is made, also where its caller is cancelled.
        """
        change = _Change(task_id, work)
        self._waiting.append(change)
        leads = not self._is_led
        try:
            if not leads:
                await change.turn.wait()
                leads = change.made is None
            if leads:
                await self._lead()
        except trio.Cancelled:
            self._withdraw(change, led=leads)
            raise
        assert change.made is not None, "it is made by whoever leads"
        made: T = change.made.unwrap()
        return made

    async def _lead(self) -> None:
        """Make the first changes that wait, and let the next one lead."""
        self._is_led = True
        batch = self._next_batch()
        try:
            ended = await trio.to_thread.run_sync(self._make, batch, limiter=self.limiter)
        except trio.Cancelled:  # which only strikes before the thread has begun
            self._waiting.extendleft(each for each in reversed(batch) if not each.is_withdrawn)
            raise
        for change, made in zip(batch, ended, strict=True):
            change.made = made
            change.turn.set()
        self._pass_on()

    def _withdraw(self, change: _Change, *, led: bool) -> None:
        """Forget a change, unless it is being made; if it was to lead, another one does."""
        change.is_withdrawn = True
        if change in self._waiting:
            self._waiting.remove(change)
        if led or (change.turn.is_set() and change.made is None):
            self._pass_on()

    def _pass_on(self) -> None:
        self._is_led = bool(self._waiting)
        if self._waiting:
            self._waiting[0].turn.set()

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
        begun, open_files = 0, 0
        for number, (change, each) in enumerate(zip(batch, changes, strict=True), start=1):
            each.made = outcome.capture(self._prepare, change, each.files)
            open_files += len(each.files)
            if open_files >= _MOST_OPEN or number == len(batch):
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


def _finish(begun: Sequence[_Begun]) -> None:
    """Sync and replace what was prepared; what fails leaves nothing behind."""
    for step in (Replacements.start_sync, Replacements.sync, Replacements.finish):
        for each in begun:
            if isinstance(each.made, outcome.Value):
                ended = outcome.capture(step, each.files)
                each.made = ended if isinstance(ended, outcome.Error) else each.made
    for each in begun:
        each.files.discard()
