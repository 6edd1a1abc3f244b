"""An attempt as a sample of an Inspect log; pure.

The fields are those of `EvalSample` in PyPI `inspect-ai` 0.3.285. What it has no place for stands
in the sample's metadata.
"""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from agentcompass.exporting.attempts import Finished
from agentcompass.exporting.inspect_ends import ended_by
from agentcompass.exporting.inspect_messages import messages_of
from agentcompass.exporting.inspect_usage import usage_of
from agentcompass.exporting.text import as_text, shallow, valid
from agentcompass.records.convert import unstructure
from agentcompass.records.metrics import PRIMARY_KINDS

Record = Mapping[str, Any]

_LONGEST_ID = 200
_SHOWN = 1000  # characters of a text in a list of samples, as many as Inspect shows
_LISTED = ("id", "epoch", "model_usage", "started_at", "completed_at", "total_time", "uuid")
_STOPS = {
    "stop": "stop",
    "end_turn": "stop",
    "completed": "stop",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "content_filter": "content_filter",
}


def sample_id(task_id: str) -> str:
    """The task's id, as far as a name in an archive can be it; a long one ends in its hash."""
    text = valid(task_id).replace("\0", "\\x00")
    if len(text) <= _LONGEST_ID:
        return text
    return f"{text[:_LONGEST_ID]}--{hashlib.sha256(text.encode()).hexdigest()}"


def instant(text: Any) -> datetime | None:
    """The time that an ISO 8601 text tells, in UTC where it has no zone; None for anything else."""
    try:
        found = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def sample_of(attempt: Finished, trajectory: Record | None, model: str) -> dict[str, Any]:
    """The sample; `trajectory` is the attempt's in ATIF."""
    result, steps = attempt.result, (trajectory or {}).get("steps", ())
    usage = usage_of(result, trajectory)
    return {
        "id": sample_id(attempt.task_id),
        "epoch": attempt.number,
        "input": next((step["message"] for step in steps if step["source"] == "user"), ""),
        "target": _target(attempt),
        "messages": messages_of(steps),
        "output": _output(attempt, steps, model),
        "scores": _scores(attempt),
        "metadata": shallow(_metadata(attempt)),
        "model_usage": {model: usage} if usage else {},
        "uuid": hashlib.sha256(attempt.label.encode()).hexdigest()[:22],
        **_times(result.trajectory),
        **ended_by(result),
    }


def summary_of(sample: Record) -> dict[str, Any]:
    """What a list of samples shows of one."""
    error, limit = sample["error"] or {}, sample["limit"] or {}
    scores = {
        name: {key: _start(value) for key, value in score.items()}
        for name, score in sample["scores"].items()
    }
    return {
        **{name: sample[name] for name in _LISTED},
        "input": _start(sample["input"]),
        "target": _start(as_text(sample["target"])),
        "scores": scores,
        "error": error.get("message"),
        "limit": limit.get("type"),
        "limit_reason": limit.get("reason"),
        "completed": True,
        "message_count": len(sample["messages"]),
    }


def _start(value: Any) -> Any:
    """The beginning of a long text."""
    return value[:_SHOWN] if isinstance(value, str) else value


def _target(attempt: Finished) -> str | list[str]:
    truth = None if attempt.header is None else attempt.header.ground_truth
    if isinstance(truth, list) and all(isinstance(item, str) for item in truth):
        return truth
    return as_text(truth)


def _scores(attempt: Finished) -> dict[str, Any]:
    answer = as_text(attempt.result.final_answer)
    return {
        name: {"value": value, **({"answer": answer} if name in PRIMARY_KINDS else {})}
        for name, value in attempt.result.metrics.items()
    }


def _output(attempt: Finished, steps: Any, model: str) -> dict[str, Any]:
    """The answer, and why the model's last reply ended."""
    acted = [step for step in steps if step["source"] == "agent"]
    reason = acted[-1].get("extra", {}).get("finish_reason") if acted else None
    answer = as_text(attempt.result.final_answer)
    message = {"role": "assistant", "content": answer or (acted[-1]["message"] if acted else "")}
    stop = _STOPS.get(str(reason), "unknown")
    choices = [{"message": message, "stop_reason": stop}] if acted or answer else []
    return {"model": model, "choices": choices, "completion": answer}


def _metadata(attempt: Finished) -> dict[str, Any]:
    result, header = attempt.result, attempt.header
    return {
        "task_id": attempt.task_id,
        "category": None if header is None else header.category,
        "status": result.status,
        "retry_count": result.retry_count,
        "issues": [unstructure(issue) for issue in result.issues],
        "directory": attempt.label,
        "meta": unstructure(result.meta),
        "analysis_result": unstructure(result.analysis_result),
    }


def _times(trajectory: Record) -> dict[str, Any]:
    began, ended = (instant(trajectory.get(name)) for name in ("started_at", "finished_at"))
    return {
        "started_at": began and began.isoformat(),
        "completed_at": ended and ended.isoformat(),
        "total_time": max(0.0, (ended - began).total_seconds()) if began and ended else None,
    }
