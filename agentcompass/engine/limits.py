"""How many at once and how often: slots, process-wide provider limits, paced opens."""

import math
from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import attrs
import trio

from agentcompass.engine.lines import Gate, Line, Tokens, enter, give_back, serve

DEFAULT_PROVIDER_LIMIT = 128
REMOTE_OPEN_QPS = 10.0
LOCAL_PROVIDERS = frozenset({"host_process", "docker", "fake"})


@attrs.define(eq=False)
class Pace:
    """Opens of one provider, at least `1 / qps` seconds apart; a qps of None does not delay."""

    qps: float | None
    _next_at: float = -math.inf

    async def wait(self) -> None:
        """Return when it is this caller's turn; turns are given in order of arrival."""
        if self.qps is None:
            return
        turn = max(trio.current_time(), self._next_at)
        self._next_at = turn + 1 / self.qps
        await trio.sleep_until(turn)


@attrs.define(eq=False)
class Provider:
    """What all requests of one trio run share about a provider; no limit is infinitely many."""

    limiter: Tokens
    pace: Pace


_shared: trio.lowlevel.RunVar[dict[str, Provider]] = trio.lowlevel.RunVar("agentcompass_providers")


def _provider(name: str) -> Provider:
    try:
        shared = _shared.get()
    except LookupError:
        shared = {}
        _shared.set(shared)
    if name not in shared:
        qps = None if name in LOCAL_PROVIDERS else REMOTE_OPEN_QPS
        shared[name] = Provider(Tokens(DEFAULT_PROVIDER_LIMIT), Pace(qps))
    return shared[name]


@attrs.define(eq=False)
class Permit:
    """Leave to execute: one provider permit and one slot, held together or not at all.

    For `provider`, or None, it is taken where the body begins, and released where it ends.
    """

    _limits: "Limits"
    provider: str | None
    _held: tuple[Tokens, ...] = attrs.field(default=(), init=False)

    async def __aenter__(self) -> "Permit":
        await self.take(self.provider)
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.release()

    async def take(self, provider: str | None, *, moving: bool = False) -> None:
        """Wait for the provider's permit and a slot; None needs a slot alone.

        Who moves to another provider, being in already, is not held up by a pause.
        """
        line = self._limits.line(provider, moving=moving)
        await enter(line)
        self._held = line.needs()
        self.provider = provider

    async def move_to(self, provider: str | None) -> None:
        """Go on with another provider: the same one keeps its permit, none gives it back.

        The slot is given back before another provider's permit is waited for, so that two tasks
        that change places cannot wait for each other.
        """
        if provider == self.provider:
            return
        if provider is None:
            slots, *permits = self._held
            self._held, self.provider = (slots,), None
            give_back(*permits)
            return
        self.release()
        await self.take(provider, moving=True)

    def release(self) -> None:
        """Give back whatever is held."""
        held, self._held = self._held, ()
        give_back(*held)


@attrs.define(eq=False)
class Limits:
    """The limits that one request runs under; slots may be shared with an orchestration.

    `room` is set once the request leaves room for others: its last tasks have been started, or
    they wait for a provider while a slot is free.
    """

    slots: Tokens
    room: trio.Event = attrs.field(factory=trio.Event)
    _gate: Gate = attrs.field(factory=Gate, init=False)
    _lines: dict[tuple[str | None, bool], Line] = attrs.field(factory=dict, init=False)

    @property
    def is_paused(self) -> bool:
        """Whether nobody is let in for now."""
        return self._gate.is_shut

    def pause(self) -> None:
        """Let nobody in until `resume`; who waits keeps its place."""
        self._gate.is_shut = True
        self._serve()  # others have what was owed to those who wait here

    def resume(self) -> None:
        """Go on after `pause`."""
        self._gate.is_shut = False
        self._serve()

    def _serve(self) -> None:
        serve(*{tokens for line in self._lines.values() for tokens in line.needs()})

    def line(self, provider: str | None, *, moving: bool = False) -> Line:
        """Where those wait who need a slot and the provider's permit."""
        key = provider, moving
        if key not in self._lines:
            self._lines[key] = Line(
                slots=self.slots,
                permits=None if provider is None else provider_limiter(provider),
                gate=Gate() if moving else self._gate,
                room=self.room,
            )
        return self._lines[key]

    def admit(self, provider: str | None) -> Permit:
        """Hold a provider permit and a slot for the body; the body may move the permit.

        While the request is paused nobody is let in, and who is in stays in.
        """
        return Permit(self, provider)

    async def pace(self, provider: str) -> None:
        """Wait until this provider may be asked to open once more."""
        await _provider(provider).pace.wait()


@runtime_checkable
class AllowsMoreCalls(Protocol):
    """A model whose calls at once may become more while it is used."""

    def allow_calls(self, at_once: int) -> None:
        """Let at least that many calls be made at once from now on."""
        ...


def set_provider_limits(limits: Mapping[str, int | None], qps: Mapping[str, float | None]) -> None:
    """Set what was asked for by name, for every request of this trio run; None is no limit.

    The latest caller who names a provider decides; who names none leaves it as it is.
    """
    for name, limit in limits.items():
        _provider(name).limiter.total_tokens = math.inf if limit is None else limit
    for name, rate in qps.items():
        _provider(name).pace.qps = rate


def limit_text(name: str) -> str:
    """The limit and the pace of a provider, for the log."""
    provider = _provider(name)
    most = provider.limiter.total_tokens
    limit = "unlimited" if most == math.inf else f"at most {most}"
    pace = "" if provider.pace.qps is None else f", {provider.pace.qps:g} opens a second"
    return f"{limit}{pace}"


def provider_limiter(name: str) -> Tokens:
    """The limiter of a provider in this trio run."""
    return _provider(name).limiter
