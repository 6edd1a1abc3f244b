"""What the calls of one conversation took: counted as they go, the failed ones too."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import attrs

from agentcompass.records.model import Usage

_SUMMED = (
    "prompt_tokens",
    "completion_tokens",
    "cached_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "cost_usd",
)


@attrs.define(eq=False)
class Bill:
    """One call: how it ended, and what is known of its usage.

    `free` is a call that was refused, `partial` one whose usage may have gone on growing.
    """

    usage: Usage = Usage()
    free: bool = False
    partial: bool = False
    good: bool = False


@attrs.define(eq=False)
class Meter:
    """Sums of tokens and dollars are None while nothing is known.

    They are partial where a call ended without usage, or without a known cost, and say so.
    """

    calls: int = 0
    failed_calls: int = 0
    retries: int = 0
    waits: int = 0
    seconds_waited: float = 0.0
    calls_without_usage: int = 0
    calls_without_cost: int = 0
    _sums: dict[str, Any] = attrs.field(factory=lambda: dict.fromkeys(_SUMMED))

    @contextmanager
    def call(self) -> Iterator[Bill]:
        """Count one call, however it ends."""
        bill = Bill()
        self.calls += 1
        try:
            yield bill
        finally:
            self.failed_calls += not bill.good
            if not bill.free:
                self._add(bill.usage, bill.partial)

    def _add(self, usage: Usage, partial: bool) -> None:
        for name in _SUMMED:
            if (amount := getattr(usage, name)) is not None:
                self._sums[name] = (self._sums[name] or 0) + amount
        unknown = usage.prompt_tokens is None or usage.completion_tokens is None
        self.calls_without_usage += unknown or partial
        self.calls_without_cost += usage.cost_usd is None or partial

    def telemetry(self) -> dict[str, Any]:
        """Everything, as it is recorded for the attempt."""
        counts: Mapping[str, Any] = {
            "calls": self.calls,
            "failed_calls": self.failed_calls,
            "retries": self.retries,
            "waits": self.waits,
            "seconds_waited": round(self.seconds_waited, 3),
            "calls_without_usage": self.calls_without_usage,
            "calls_without_cost": self.calls_without_cost,
        }
        return {**counts, **self._sums}
