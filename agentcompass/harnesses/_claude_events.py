"""What Claude Code prints with `--output-format stream-json`: one event a line. Pure."""

from collections.abc import Iterable

from agentcompass.harnesses._cli_faults import model_fault
from agentcompass.harnesses._cli_program import (
    Event,
    Step,
    Transcript,
    count,
    issue,
    mapping,
    objects,
    text,
)
from agentcompass.records.model import Usage

_REASONS = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length"}


def read_claude(events: Iterable[Event]) -> Transcript:
    """Replies come in several events of one message id, and the result last, if it came to it."""
    found = Transcript()
    steps: dict[str, Step] = {}
    for event in events:
        message = mapping(event.get("message"))
        if event.get("type") == "assistant":
            name = str(message.get("id") or f"step {len(found.steps)}")
            if name not in steps or _is_another(message, steps[name]):
                steps[name] = Step()
                found.steps.append(steps[name])
            _reply(message, steps[name])
        elif event.get("type") == "user":
            _results(message, found.steps)
        elif event.get("type") == "result":
            _end(event, found)
    return found


def _is_another(message: Event, step: Step) -> bool:
    """Whether an id comes again for another reply, as some servers number all of theirs alike."""
    kinds = {block.get("type") for block in objects(message.get("content"))}
    return bool(step.observations) and kinds != {"tool_use"}


def _reply(message: Event, step: Step) -> None:
    for block in objects(message.get("content")):
        if block.get("type") == "text":
            step.content += text(block.get("text"))
        elif block.get("type") == "thinking":
            step.reasoning += text(block.get("thinking"))
        elif block.get("type") == "tool_use":
            step.calls(str(block.get("name")), str(block.get("id")), block.get("input"))
    if isinstance(message.get("usage"), dict):
        step.usage = _usage(message["usage"])
    if reason := message.get("stop_reason"):
        step.finish_reason = _REASONS.get(str(reason), str(reason))


def _usage(usage: Event) -> Usage:
    cached = count(usage.get("cache_read_input_tokens"))
    written = count(usage.get("cache_creation_input_tokens"))
    return Usage(
        prompt_tokens=count(usage.get("input_tokens")) + cached + written,
        completion_tokens=count(usage.get("output_tokens")),
        cached_tokens=cached,
        raw=usage,
    )


def _results(message: Event, steps: list[Step]) -> None:
    """Give each result of a tool to the step that called it."""
    for block in objects(message.get("content")):
        if block.get("type") != "tool_result":
            continue
        name = str(block.get("tool_use_id"))
        owners = (s for s in reversed(steps) if any(c["id"] == name for c in s.tool_calls))
        if owner := next(owners, steps[-1] if steps else None):
            owner.sees(name, text(block.get("content")))


def _end(event: Event, found: Transcript) -> None:
    if isinstance(event.get("usage"), dict):
        found.usage = _usage(event["usage"])
    if isinstance(cost := event.get("total_cost_usd"), float):
        found.telemetry["reported_cost_usd"] = cost
    said = text(event.get("result"))
    if event.get("subtype") == "error_max_turns":
        found.issues.append(issue("warning", "harness_limit_reached", "it reached max_turns"))
    elif event.get("is_error") is True:
        status = event.get("api_error_status")
        prefix = f"HTTP {status}: " if isinstance(status, int) else ""
        found.issues.append(model_fault(prefix + (said or str(event.get("subtype")))))
    else:
        found.answer = said
