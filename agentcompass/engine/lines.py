"""Who is let in next: of those for whom there is all that they need, whoever came first.

Nobody holds a part of it while waiting for the rest, which others could use meanwhile.
"""

from collections import OrderedDict
from collections.abc import Iterator
from itertools import chain, count

import attrs
import trio

# So many who came later may be given a permit while there is no slot for an earlier one; then the
# next permit is kept for that one, so that it does not wait forever.
PATIENCE = 8

_tickets = count()


@attrs.define(eq=False)
class Tokens:
    """So many may be borrowed at once; infinity is any number.

    `lines` are those in which somebody waits for one, and `owed` those of them whose first is the
    next to get one.
    """

    _total: float
    borrowed_tokens: int = attrs.field(default=0, init=False)
    lines: set["Line"] = attrs.field(factory=set, init=False)
    owed: set["Line"] = attrs.field(factory=set, init=False)

    @property
    def total_tokens(self) -> float:
        """How many there are; fewer than are borrowed are waited for until enough are back."""
        return self._total

    @total_tokens.setter
    def total_tokens(self, total: float) -> None:
        self._total = total
        serve(self)

    @property
    def available_tokens(self) -> float:
        """How many are left, below 0 where there are fewer by now than were borrowed."""
        return self._total - self.borrowed_tokens

    @property
    def waiting(self) -> int:
        """How many wait for one."""
        return sum(len(line.waiting) for line in self.lines)


@attrs.define(eq=False)
class Gate:
    """What may be shut before a line, for a while."""

    is_shut: bool = False


@attrs.define(eq=False)
class Line:
    """Those who need the same, in their order: a slot, and a permit unless `permits` is None.

    `room` is set once one of them has to wait although a slot is free.
    """

    slots: Tokens
    permits: Tokens | None
    gate: Gate
    room: trio.Event
    waiting: OrderedDict[int, trio.Event] = attrs.field(factory=OrderedDict, init=False)
    _passed: int = attrs.field(default=0, init=False)
    _needs: tuple[Tokens, ...] = attrs.field(init=False)

    @_needs.default
    def _find_needs(self) -> tuple[Tokens, ...]:
        return (self.slots,) if self.permits is None else (self.slots, self.permits)

    @property
    def first(self) -> int:
        """The ticket of whoever is next in this line."""
        return next(iter(self.waiting))

    def has_all_for(self, ticket: int) -> bool:
        """Whether what its holder needs is there, and owed to nobody who came before."""
        if self.gate.is_shut or self.slots.available_tokens <= 0:
            return False
        return self.permits is None or self.permits.available_tokens > self._owed_before(ticket)

    def _owed_before(self, ticket: int) -> int:
        owed = () if self.permits is None else self.permits.owed
        return sum(each.first < ticket for each in owed if not each.gate.is_shut)

    def take(self, ticket: int) -> None:
        """Borrow all of it for the holder of a ticket."""
        self.slots.borrowed_tokens += 1
        if self.permits is not None:
            self.permits.borrowed_tokens += 1
            for line in self.permits.lines:
                if line.first < ticket and not line.gate.is_shut:
                    line.pass_by(self.permits)

    def pass_by(self, permits: Tokens) -> None:
        """Note that somebody who came later got a permit before its first."""
        self._passed += 1
        if self._passed >= PATIENCE:
            permits.owed.add(self)

    def join(self, ticket: int) -> trio.Event:
        """Wait at the end of the line; the event is set once all of it is taken."""
        if not self.waiting:
            for tokens in self.needs():
                tokens.lines.add(self)
        if self.slots.available_tokens > 0:
            self.room.set()
        return self.waiting.setdefault(ticket, trio.Event())

    def leave(self, ticket: int) -> trio.Event:
        """Wait no more."""
        was_first = ticket == self.first
        let_in = self.waiting.pop(ticket)
        if was_first:
            self._passed = 0
            for tokens in self.needs():
                tokens.owed.discard(self)
        if not self.waiting:
            for tokens in self.needs():
                tokens.lines.discard(self)
        return let_in

    def needs(self) -> tuple[Tokens, ...]:
        """What each of them borrows."""
        return self._needs


async def enter(line: Line) -> None:
    """Wait for all that the line is for, and borrow it."""
    await trio.lowlevel.checkpoint_if_cancelled()
    ticket = next(_tickets)
    if not line.waiting and line.has_all_for(ticket):
        line.take(ticket)
        await trio.lowlevel.cancel_shielded_checkpoint()
        return
    let_in = line.join(ticket)
    try:
        await let_in.wait()
    except trio.Cancelled:
        if let_in.is_set():  # by somebody who was cancelled with it, and has run before it
            give_back(*line.needs())
        else:
            line.leave(ticket)
            serve(*line.needs())  # others have what was owed to it
        raise


def give_back(*borrowed: Tokens) -> None:
    """Return one of each, and let in whoever can make use of it."""
    for tokens in borrowed:
        tokens.borrowed_tokens -= 1
    serve(*borrowed)


def serve(*changed: Tokens) -> None:
    """Let in all for whom there is enough now, in the order in which they came."""
    while (line := _next(changed)) is not None:
        ticket = line.first
        let_in = line.leave(ticket)
        line.take(ticket)
        let_in.set()
    for line in _lines(changed):
        if line.slots.available_tokens > 0:
            line.room.set()


def _next(changed: tuple[Tokens, ...]) -> Line | None:
    able = (line for line in _lines(changed) if line.has_all_for(line.first))
    return min(able, key=lambda line: line.first, default=None)


def _lines(changed: tuple[Tokens, ...]) -> Iterator[Line]:
    return chain.from_iterable(tokens.lines for tokens in changed)
