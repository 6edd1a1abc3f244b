"""How many at once and how often: slots, process-wide provider limits, paced opens."""

import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Protocol, runtime_checkable

import attrs
import trio

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

    limiter: trio.CapacityLimiter
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
        shared[name] = Provider(trio.CapacityLimiter(DEFAULT_PROVIDER_LIMIT), Pace(qps))
    return shared[name]


@attrs.define(eq=False)
class Permit:
    """Leave to execute: one provider permit and one slot, held together or not at all."""

    _limits: "Limits"
    _held_provider: trio.CapacityLimiter | None = None
    _holds_slot: bool = False
    provider: str | None = None

    async def take(self, provider: str | None) -> None:
        """Wait for the provider's permit, then for a slot; None needs a slot alone."""
        # Narrow limit first: the other order lets those who wait for a provider hoard the slots.
        if provider is not None:
            limiter = _provider(provider).limiter
            await limiter.acquire_on_behalf_of(self)
            self._held_provider = limiter
        try:
            await self._limits.slots.acquire_on_behalf_of(self)
        except BaseException:
            self._release_provider()
            raise
        self._holds_slot = True
        self.provider = provider

    @property
    def is_too_many(self) -> bool:
        """Whether the provider's limit was lowered below what is held of it."""
        held = self._held_provider
        return held is not None and held.borrowed_tokens > held.total_tokens

    async def move_to(self, provider: str | None) -> None:
        """Go on with another provider: the same one keeps its permit, none gives it back.

        The slot is given back before another provider's permit is waited for, so that two tasks
        that change places cannot wait for each other.
        """
        if provider == self.provider:
            return
        if provider is None:
            self._release_provider()
            self.provider = None
            return
        self.release()
        await self.take(provider)

    def release(self) -> None:
        """Give back whatever is held."""
        if self._holds_slot:
            self._limits.slots.release_on_behalf_of(self)
            self._holds_slot = False
        self._release_provider()

    def _release_provider(self) -> None:
        if self._held_provider is not None:
            self._held_provider.release_on_behalf_of(self)
            self._held_provider = None


@attrs.define(eq=False)
class Limits:
    """The limits that one request runs under; slots may be shared with an orchestration.

    `room` is set once the request leaves room for others: its last tasks have been started, or
    they wait for a provider.
    """

    slots: trio.CapacityLimiter
    room: trio.Event = attrs.field(factory=trio.Event)
    _resumed: trio.Event | None = None

    @property
    def is_paused(self) -> bool:
        """Whether nobody is let in for now."""
        return self._resumed is not None

    def pause(self) -> None:
        """Let nobody in until `resume`."""
        if self._resumed is None:
            self._resumed = trio.Event()

    def resume(self) -> None:
        """Go on after `pause`."""
        if self._resumed is not None:
            self._resumed.set()
            self._resumed = None

    async def until_resumed(self) -> None:
        """Wait as long as the request is paused."""
        while self._resumed is not None:
            await self._resumed.wait()

    @asynccontextmanager
    async def admit(self, provider: str | None) -> AsyncIterator[Permit]:
        """Hold a provider permit and a slot for the body; the body may move the permit.

        While the request is paused nobody is let in, and who is in stays in.
        """
        permit = Permit(self)
        await self.until_resumed()
        await permit.take(provider)
        while self.is_paused or permit.is_too_many:  # since it was waited for
            permit.release()
            await self.until_resumed()
            await permit.take(provider)
        try:
            yield permit
        finally:
            permit.release()

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


def provider_limiter(name: str) -> trio.CapacityLimiter:
    """The limiter of a provider in this trio run, to read its state."""
    return _provider(name).limiter
