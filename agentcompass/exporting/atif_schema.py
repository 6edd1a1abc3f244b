"""Whether a document is ATIF v1.8, as far as this package writes it: texts and tool calls.

The fields and rules are those of Harbor's models (PyPI `harbor`, `models/trajectories`), which
forbid any other field.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

import attrs

from agentcompass.errors import ConfigInvalid, RecordCorrupt
from agentcompass.records.convert import structure_settings

Extra = Mapping[str, Any] | None


@attrs.frozen(kw_only=True)
class Agent:
    """Who acted."""

    name: str
    version: str
    model_name: str | None = None
    tool_definitions: tuple[Mapping[str, Any], ...] | None = None
    extra: Extra = None


@attrs.frozen(kw_only=True)
class ToolCall:
    """One call of a step."""

    tool_call_id: str
    function_name: str
    arguments: Mapping[str, Any]
    extra: Extra = None


@attrs.frozen(kw_only=True)
class Result:
    """What a call, or the step, led to."""

    source_call_id: str | None = None
    content: str | None = None
    extra: Extra = None


@attrs.frozen(kw_only=True)
class Observation:
    """Everything that a step led to."""

    results: tuple[Result, ...]


@attrs.frozen(kw_only=True)
class Metrics:
    """Tokens and dollars of a step."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    extra: Extra = None


@attrs.frozen(kw_only=True)
class FinalMetrics:
    """Tokens and dollars of all steps."""

    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_cost_usd: float | None = None
    total_steps: int | None = None
    extra: Extra = None


def _instant(_step: object, _attribute: object, value: str | None) -> None:
    if value is not None:
        datetime.fromisoformat(value)


@attrs.frozen(kw_only=True)
class Step:
    """What one side said or did."""

    step_id: int
    source: Literal["system", "user", "agent"]
    message: str
    timestamp: str | None = attrs.field(default=None, validator=_instant)
    model_name: str | None = None
    reasoning_content: str | None = None
    tool_calls: tuple[ToolCall, ...] | None = None
    observation: Observation | None = None
    metrics: Metrics | None = None
    llm_call_count: int | None = None
    extra: Extra = None

    def __attrs_post_init__(self) -> None:
        acted = (self.model_name, self.reasoning_content, self.tool_calls, self.metrics)
        if self.source != "agent" and any(part is not None for part in acted):
            raise ValueError(f"a step of the {self.source} has what only an agent's has")
        calls = {call.tool_call_id for call in self.tool_calls or ()}
        for result in self.observation.results if self.observation else ():
            if result.source_call_id not in (None, *calls):
                raise ValueError(f"{result.source_call_id!r} is no call of step {self.step_id}")


def _numbered(_trajectory: object, _attribute: object, steps: tuple[Step, ...]) -> None:
    if not steps or [step.step_id for step in steps] != [*range(1, len(steps) + 1)]:
        raise ValueError("steps are to be numbered from 1, and there is at least one")


@attrs.frozen(kw_only=True)
class Trajectory:
    """The whole document."""

    schema_version: Literal["ATIF-v1.8"]
    agent: Agent
    steps: tuple[Step, ...] = attrs.field(validator=_numbered)
    session_id: str | None = None
    final_metrics: FinalMetrics | None = None
    extra: Extra = None


def checked_atif(document: Any, *, source: str) -> Mapping[str, Any]:
    """`document`, which is such a trajectory; raises `RecordCorrupt`, which names its faults."""
    try:
        structure_settings(document, Trajectory, path=source)
    except ConfigInvalid as error:
        raise RecordCorrupt(str(error)) from error
    found: Mapping[str, Any] = document
    return found
