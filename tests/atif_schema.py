"""A strict check of ATIF v1.8: every field by name and type, and the rules between them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

TEXT, NUMBER, COUNT, OBJECT, LIST, FLAG = str, (int, float), int, dict, list, bool
OPTIONAL: Mapping[str, Mapping[str, Any]] = {
    "trajectory": {
        "session_id": TEXT,
        "trajectory_id": TEXT,
        "notes": TEXT,
        "final_metrics": OBJECT,
        "continued_trajectory_ref": TEXT,
        "extra": OBJECT,
        "subagent_trajectories": LIST,
    },
    "agent": {"model_name": TEXT, "tool_definitions": LIST, "extra": OBJECT},
    "step": {
        "timestamp": TEXT,
        "model_name": TEXT,
        "reasoning_effort": (str, int, float),
        "reasoning_content": TEXT,
        "tool_calls": LIST,
        "observation": OBJECT,
        "metrics": OBJECT,
        "is_copied_context": FLAG,
        "llm_call_count": COUNT,
        "extra": OBJECT,
    },
    "tool call": {"extra": OBJECT},
    "observation": {},
    "result": {
        "source_call_id": TEXT,
        "content": TEXT,
        "subagent_trajectory_ref": LIST,
        "extra": OBJECT,
    },
    "metrics": {
        "prompt_tokens": COUNT,
        "completion_tokens": COUNT,
        "cached_tokens": COUNT,
        "cost_usd": NUMBER,
        "extra": OBJECT,
    },
    "final metrics": {
        "total_prompt_tokens": COUNT,
        "total_completion_tokens": COUNT,
        "total_cached_tokens": COUNT,
        "total_cost_usd": NUMBER,
        "total_steps": COUNT,
        "extra": OBJECT,
    },
}
REQUIRED: Mapping[str, Mapping[str, Any]] = {
    "trajectory": {"schema_version": TEXT, "agent": OBJECT, "steps": LIST},
    "agent": {"name": TEXT, "version": TEXT},
    "step": {"step_id": COUNT, "source": TEXT, "message": TEXT},
    "tool call": {"tool_call_id": TEXT, "function_name": TEXT, "arguments": OBJECT},
    "observation": {"results": LIST},
    "result": {},
    "metrics": {},
    "final metrics": {},
}
AGENT_ONLY = {"model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics"}


def check(document: Any) -> None:
    """Raise `AssertionError` that says where `document` is not ATIF v1.8."""
    _fields(document, "trajectory")
    assert document["schema_version"] == "ATIF-v1.8"
    _fields(document["agent"], "agent")
    assert document["steps"], "a trajectory has at least one step"
    for number, step in enumerate(document["steps"], start=1):
        assert step.get("step_id") == number, f"step {number} is numbered {step.get('step_id')}"
        _step(step)
    if "final_metrics" in document:
        _fields(document["final_metrics"], "final metrics")
        assert document["final_metrics"]["total_steps"] == len(document["steps"])


def _fields(value: Any, kind: str) -> None:
    assert isinstance(value, dict), f"{kind} is {type(value).__name__}"
    required, allowed = REQUIRED[kind], {**REQUIRED[kind], **OPTIONAL[kind]}
    assert required.keys() <= value.keys(), f"{kind} lacks {required.keys() - value.keys()}"
    assert value.keys() <= allowed.keys(), f"{kind} may not have {value.keys() - allowed.keys()}"
    for name, item in value.items():
        right = isinstance(item, allowed[name]) and (
            allowed[name] is FLAG or not isinstance(item, bool)
        )
        assert right, f"{kind}.{name} is {type(item).__name__}"


def _step(step: Mapping[str, Any]) -> None:
    _fields(step, "step")
    assert step["source"] in ("system", "user", "agent")
    if "timestamp" in step:
        datetime.fromisoformat(step["timestamp"].replace("Z", "+00:00"))
    if step["source"] != "agent":
        assert not AGENT_ONLY & step.keys(), f"a {step['source']}'s step has what is an agent's"
    calls = step.get("tool_calls", [])
    for call in calls:
        _fields(call, "tool call")
    names = [call["tool_call_id"] for call in calls]
    assert len(set(names)) == len(names), "two calls have one id"
    if "observation" in step:
        _observation(step["observation"], names)
    if "metrics" in step:
        _fields(step["metrics"], "metrics")


def _observation(observation: Any, calls: Sequence[str]) -> None:
    _fields(observation, "observation")
    for result in observation["results"]:
        _fields(result, "result")
        source = result.get("source_call_id")
        assert source is None or source in calls, f"{source} is no call of this step"
