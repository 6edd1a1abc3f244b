"""What the calls of one run took, added up in its telemetry as they come."""

from typing import Any

import attrs

from agentcompass.records.model import Reply
from agentcompass.records.task import RunResult

# What mini_swe_agent, terminus2 and openai_chat can be used with: every protocol.
PROTOCOLS = ("openai-chat", "openai-responses", "anthropic", "replay")
_COUNTED = ("prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd")


@attrs.define(eq=False)
class Sums:
    """Counts calls, tokens, dollars and seconds; what no reply has told is null, never 0."""

    telemetry: dict[str, Any]

    @classmethod
    def of(cls, result: RunResult) -> "Sums":
        """Sums that stand in the telemetry of `result` from now on."""
        result.telemetry |= {
            "n_calls": 0,
            **dict.fromkeys(_COUNTED),
            "calls_without_usage": 0,
            "model_seconds": 0.0,
            "env_seconds": 0.0,
        }
        return cls(result.telemetry)

    @property
    def calls(self) -> int:
        """How many calls were begun."""
        return int(self.telemetry["n_calls"])

    @property
    def cost(self) -> float:
        """US dollars, as far as they are known."""
        return float(self.telemetry["cost_usd"] or 0.0)

    def called(self) -> None:
        """Count a call before it is made, so that one that fails counts too."""
        self.telemetry["n_calls"] += 1

    def replied(self, reply: Reply) -> None:
        """Add a reply, whether or not it can be used."""
        for name in _COUNTED:
            if (amount := getattr(reply.usage, name)) is not None:
                self.telemetry[name] = (self.telemetry[name] or 0) + amount
        self.telemetry["calls_without_usage"] += reply.usage.prompt_tokens is None
        self.telemetry["model_seconds"] += reply.seconds

    def acted(self, seconds: float) -> None:
        """Add the time of an action in the environment."""
        self.telemetry["env_seconds"] += seconds
