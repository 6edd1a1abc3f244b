"""From an ACTF_v1.0 trajectory to one in ATIF, as other tools read it. Pure.

ATIF v1.8 (Harbor's Agent Trajectory Interchange Format) knows no other fields than these: the
steps are numbered from 1, a user's and a system's have a message only, and an observation may name
none but a tool call of its own step.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

ATIF_SCHEMA = "ATIF-v1.8"
_DEEPEST = 100  # levels of a call's arguments
_TOTALS = {
    "prompt_tokens": "total_prompt_tokens",
    "completion_tokens": "total_completion_tokens",
    "cached_tokens": "total_cached_tokens",
    "cost_usd": "total_cost_usd",
}

_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)?")

Record = Mapping[str, Any]


@attrs.frozen(kw_only=True)
class AtifAgent:
    """Who made the trajectory; `session_id` names the run and the attempt."""

    name: str
    version: str
    model_name: str | None = None
    session_id: str | None = None


def atif_document(
    trajectory: Record, agent: AtifAgent, *, session_id: str | None = None
) -> dict[str, Any] | None:
    """The trajectory in ATIF; None where there is no step. What is not known is left out.

    `session_id` names the attempt; where it is not given, that of the agent does.
    """
    given = _mappings(trajectory.get("steps"))
    steps = [made for step in given for made in (*_said(step), _acted(step))]
    if not steps:
        return None
    for number, step in enumerate(steps, start=1):
        step["step_id"] = number
    tools = next((found for step in given if (found := _mappings(step.get("tools")))), None)
    return _known(
        schema_version=ATIF_SCHEMA,
        session_id=session_id or agent.session_id,
        agent=_known(
            name=agent.name,
            version=agent.version,
            model_name=agent.model_name,
            tool_definitions=tools,
        ),
        steps=steps,
        final_metrics=_final_metrics(steps),
    )


def _known(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _is_mapping(value: Any) -> bool:
    return type(value) is dict or isinstance(value, Mapping)  # the latter alone takes long


def _mapping(value: Any) -> Record:
    return value if _is_mapping(value) else {}


def _mappings(value: Any) -> list[Record]:
    return [item for item in _list(value) if _is_mapping(item)]


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()


def _said(step: Record) -> list[dict[str, Any]]:
    """What the model was asked with, where that is new."""
    spoken = (("system", step.get("system_prompt")), ("user", step.get("user_content")))
    stamp = _time(step.get("started_at"))
    return [
        _known(step_id=0, timestamp=stamp, source=source, message=_text(text))
        for source, text in spoken
        if text
    ]


def _acted(step: Record) -> dict[str, Any]:
    said, metric = _mapping(step.get("assistant_content")), _mapping(step.get("metric"))
    calls = _calls(_list(said.get("tool_calls")))
    extra = _known(
        finish_reason=metric.get("stop_reason"),
        llm_infer_ms=metric.get("llm_infer_ms"),
        env_action_ms=metric.get("env_action_ms"),
    )
    return _known(
        step_id=0,
        timestamp=_time(step.get("finished_at")),
        source="agent",
        message=_text(said.get("content")),
        reasoning_content=_text(said.get("reasoning_content")) or None,
        tool_calls=calls or None,
        observation=_observation(_list(step.get("observation")), calls),
        metrics=_metrics(metric),
        llm_call_count=1,
        extra=extra or None,
    )


def _calls(given: Sequence[Any]) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = []
    for number, call in enumerate(given, start=1):
        function = _mapping(_mapping(call).get("function"))
        name = str(_mapping(call).get("id") or f"call_{number}")
        calls.append(
            {
                "tool_call_id": _free(name, calls),
                "function_name": str(function.get("name") or ""),
                "arguments": _arguments(function.get("arguments")),
            }
        )
    return calls


def _free(name: str, calls: Sequence[Record]) -> str:
    taken = {call["tool_call_id"] for call in calls}
    while name in taken:
        name += "+"
    return name


def _arguments(given: Any) -> dict[str, Any]:
    """The arguments of a call as an object; what is none, or none to write, is text in `raw`."""
    try:
        value = json.loads(given) if isinstance(given, str) else given
        _check(value)
    except (ValueError, RecursionError):
        value = _text(given)
    return dict(value) if isinstance(value, Mapping) else {"raw": value}


def _check(value: Any, levels: int = _DEEPEST) -> None:
    """Raise `ValueError` where a record cannot hold `value`, which a model may have written."""
    if not levels or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError
    for item in value.values() if isinstance(value, Mapping) else _list(value):
        _check(item, levels - 1)


def _observation(given: Sequence[Any], calls: Sequence[Record]) -> dict[str, Any] | None:
    known = {call["tool_call_id"] for call in calls}
    results = [_result(item, known) for item in given]
    return {"results": results} if results else None


def _result(item: Any, known: set[str]) -> dict[str, Any]:
    if not isinstance(item, Mapping):
        return {"content": _text(item)}
    source = item.get("tool_call_id")
    return _known(
        source_call_id=source if source in tuple(known) else None,
        content=_text(item.get("content")),
    )


def _metrics(metric: Record) -> dict[str, Any] | None:
    found = _known(
        prompt_tokens=_amount(metric.get("prompt_tokens_len"), int),
        completion_tokens=_amount(metric.get("completion_tokens_len"), int),
        cached_tokens=_amount(metric.get("cached_tokens_len"), int),
        cost_usd=_amount(metric.get("cost_usd"), float),
    )
    return found or None


def _amount(value: Any, kind: type[int] | type[float]) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return kind(value)


def _final_metrics(steps: Sequence[Record]) -> dict[str, Any]:
    totals: dict[str, Any] = {}
    for step in steps:
        for name, amount in step.get("metrics", {}).items():
            totals[_TOTALS[name]] = totals.get(_TOTALS[name], 0) + amount
    return {**totals, "total_steps": len(steps)}


def _time(value: Any) -> str | None:
    """A time as ISO 8601; the asyncio implementation writes a blank where ISO has a T."""
    stamp = value.replace(" ", "T", 1) if isinstance(value, str) else ""
    return stamp if _ISO.fullmatch(stamp) else None


def _text(value: Any) -> str:
    if isinstance(value, str) or value is None:
        return value or ""
    return json.dumps(value, ensure_ascii=False, default=str)
