"""What Codex prints with `codex exec --json`: one event a line. Pure."""

from collections.abc import Iterable, Sequence

from agentcompass.harnesses._cli_faults import model_fault
from agentcompass.harnesses._cli_program import Event, Step, Transcript, count, issue, mapping, text
from agentcompass.records.model import Usage

_SAID = ("agent_message", "reasoning")
# What stands in an item beside its arguments.
_OUTCOME = ("id", "type", "status", "aggregated_output", "exit_code", "result", "error")


def read_codex(said: Iterable[Event]) -> Transcript:
    """An item that acts closes a step; the tokens of a turn are those of its last step."""
    events, found = list(said), Transcript()
    step: Step | None = None
    for event in events:
        item = mapping(event.get("item"))
        if event.get("type") == "item.completed" and item.get("type") != "error":
            if step is None or (step.tool_calls and item.get("type") in _SAID):
                step = Step()
                found.steps.append(step)
            _take(item, step, found)
        elif event.get("type") == "turn.completed":
            _count(mapping(event.get("usage")), found)
            step = None
        elif event.get("type") == "turn.failed":
            found.issues.append(model_fault(text(mapping(event.get("error")).get("message"))))
    if trouble := _last_trouble(events):
        found.issues.append(issue("error", "model_failed", trouble))
    return found


def _last_trouble(events: Sequence[Event]) -> str:
    """What it was waiting for when it was ended: it tries for ever to reach a model."""
    last = events[-1] if events else {}
    return text(last.get("message")) if last.get("type") == "error" else ""


def _take(item: Event, step: Step, found: Transcript) -> None:
    if item.get("type") == "agent_message":
        step.content += text(item.get("text"))
        found.answer = text(item.get("text"))
    elif item.get("type") == "reasoning":
        step.reasoning += text(item.get("text"))
    else:
        name, kind = str(item.get("id")), str(item.get("type"))
        step.calls(kind, name, {key: item[key] for key in item if key not in _OUTCOME})
        step.sees(name, _outcome(item))


def _outcome(item: Event) -> str:
    parts = [text(item.get("aggregated_output"))]
    if item.get("exit_code") is not None:
        parts.append(f"exit code {item['exit_code']}")
    elif item.get("status") is not None:
        parts.append(str(item["status"]))
    return "\n".join(filter(None, parts))


def _count(usage: Event, found: Transcript) -> None:
    turn = Usage(
        prompt_tokens=count(usage.get("input_tokens")),
        completion_tokens=count(usage.get("output_tokens")),
        cached_tokens=count(usage.get("cached_input_tokens")),
        raw=usage,
    )
    found.usage = turn if found.usage is None else _sum(found.usage, turn)
    if found.steps:
        found.steps[-1].usage = turn
        found.steps[-1].finish_reason = "stop"


def _sum(one: Usage, other: Usage) -> Usage:
    names = ("prompt_tokens", "completion_tokens", "cached_tokens")
    return Usage(**{name: getattr(one, name) + getattr(other, name) for name in names})
