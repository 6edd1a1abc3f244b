"""An ACTF_v1.0 trajectory (docs/run-directory.md), built in place: a deadline keeps what is there.

One step is one reply of the model with what came of it. Times are ISO 8601 in UTC, durations in
milliseconds; a count that is not known is null. `cached_tokens_len` and `cost_usd` are ours.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import attrs

from agentcompass.records.model import Reply


def now() -> str:
    """The wall clock as ISO 8601 with its zone."""
    return datetime.now(UTC).isoformat()


def _empty() -> dict[str, Any]:
    started = now()
    return {
        "schema_version": "ACTF_v1.0",
        "steps": [],
        "started_at": started,
        "finished_at": started,
    }


@attrs.define(eq=False)
class Trajectory:
    """Adds steps and observations to `record`, which is a whole trajectory at any moment."""

    record: dict[str, Any] = attrs.field(factory=_empty)

    def add_step(
        self,
        reply: Reply,
        *,
        started_at: str,
        system_prompt: str = "",
        user_content: str = "",
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        """A reply; what it was asked with is given where it changed, at least for the first."""
        finished = now()
        self.record["steps"].append(
            {
                "step_id": len(self.record["steps"]),
                "system_prompt": system_prompt,
                "user_content": user_content,
                "tools": list(tools) if tools else None,
                "assistant_content": _content(reply.message),
                "observation": [],
                "metric": _metric(reply),
                "started_at": started_at,
                "finished_at": finished,
            }
        )
        self.record["finished_at"] = finished

    def add_past(
        self, reply: Reply, observations: Sequence[Mapping[str, Any]], *, user_content: str = ""
    ) -> None:
        """A reply that was had elsewhere, when and how fast nobody knows, with what it led to."""
        self.add_step(reply, started_at="", user_content=user_content)
        step = self.record["steps"][-1]
        step |= {"observation": list(observations), "started_at": None, "finished_at": None}
        step["metric"]["llm_infer_ms"] = None

    def observe(self, observation: Mapping[str, Any], *, seconds: float | None = None) -> None:
        """What the last reply led to; `seconds` of an action in the environment are added up."""
        step = self.record["steps"][-1]
        step["observation"].append(dict(observation))
        if seconds is not None:
            step["metric"]["env_action_ms"] = round(
                (step["metric"]["env_action_ms"] or 0.0) + seconds * 1000, 3
            )
        step["finished_at"] = self.record["finished_at"] = now()


def _content(message: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "content": message.get("content") or "",
        "reasoning_content": message.get("reasoning_content") or message.get("reasoning") or "",
        "tool_calls": list(message.get("tool_calls") or ()),
    }


def _metric(reply: Reply) -> dict[str, Any]:
    return {
        "prompt_tokens_len": reply.usage.prompt_tokens,
        "completion_tokens_len": reply.usage.completion_tokens,
        "cached_tokens_len": reply.usage.cached_tokens,
        "cost_usd": reply.usage.cost_usd,
        "llm_infer_ms": round(reply.seconds * 1000, 3),
        "env_action_ms": None,
        "stop_reason": reply.finish_reason,
    }
