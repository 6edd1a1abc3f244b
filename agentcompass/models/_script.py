"""A file of scripted replies, read strictly: bad lines are named with their reasons."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from agentcompass.errors import ConfigInvalid
from agentcompass.models._usage import read_usage
from agentcompass.records.model import Reply

ANY_TASK = "*"
_NAMED = 5  # bad lines; a file that is no script at all has many
_LINE_KEYS = frozenset({"task_id", "attempt", "messages", "delay_seconds"})
_WRAPPED_KEYS = frozenset({"message", "usage", "finish_reason"})


class BadLine(ValueError):
    """A line of a script that cannot be used; the text says why."""


@attrs.frozen(kw_only=True)
class Script:
    """The replies to one conversation, in order; each comes after `delay_seconds`."""

    task_id: str
    attempt: int | None
    replies: tuple[Reply, ...]
    delay_seconds: float = 0.0


@attrs.frozen
class Scripts:
    """All scripts of a file, found by task and attempt."""

    by_key: Mapping[tuple[str, int | None], Script]

    def find(self, task_id: str, attempt: int) -> Script | None:
        """The closest script: of the task before that of any, of the attempt before that of any."""
        keys = ((task_id, attempt), (task_id, None), (ANY_TASK, attempt), (ANY_TASK, None))
        return next((self.by_key[key] for key in keys if key in self.by_key), None)


def read_scripts(path: Path) -> Scripts:
    """The scripts of a JSON Lines file; blocking. Raises `ConfigInvalid` with the bad lines."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigInvalid([f"replies {path} cannot be read: {error}"]) from error
    found, faults = _collect(text.split("\n"), path)
    if not found and not faults:
        faults = [f"replies {path} hold no line"]
    if len(faults) > _NAMED:
        faults[_NAMED:] = [f"{path}: and {len(faults) - _NAMED} more lines that cannot be used"]
    if faults:
        raise ConfigInvalid(faults)
    return Scripts(found)


def _collect(
    lines: Iterable[str], path: Path
) -> tuple[dict[tuple[str, int | None], Script], list[str]]:
    found: dict[tuple[str, int | None], Script] = {}
    faults = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            script = read_line(line)
            if (script.task_id, script.attempt) in found:
                raise BadLine(f"{_name(script)} has a line already")
        except ValueError as error:
            faults.append(f"{path}:{number}: {error}")
        else:
            found[script.task_id, script.attempt] = script
    return found, faults


def _name(script: Script) -> str:
    attempt = "any attempt" if script.attempt is None else f"attempt {script.attempt}"
    return f"task {script.task_id!r}, {attempt},"


def read_line(line: str) -> Script:
    """One script; raises `BadLine`."""
    row = _known(_object(_parse(line), "the line"), _LINE_KEYS)
    if not isinstance(row.get("task_id"), str) or not row["task_id"].strip():
        raise BadLine("task_id must be text that is not empty; * stands for any task")
    return Script(
        task_id=row["task_id"],
        attempt=_attempt(row.get("attempt")),
        replies=_replies(row.get("messages")),
        delay_seconds=_delay(row.get("delay_seconds", 0)),
    )


def _parse(line: str) -> Any:
    try:
        return json.loads(line, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise BadLine(f"not JSON: {error.msg}, column {error.colno}") from error
    except RecursionError as error:
        raise BadLine("not JSON: nested too deeply") from error


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        raise BadLine(f"the key {next(name for name in names if names.count(name) > 1)} is twice")
    return row


def _no_constant(name: str) -> None:
    raise BadLine(f"{name} is not JSON")


def _object(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BadLine(f"{name} must be an object")
    return value


def _known(row: Mapping[str, Any], keys: frozenset[str]) -> Mapping[str, Any]:
    if unknown := sorted(row.keys() - keys):
        raise BadLine(f"unknown key {', '.join(unknown)}; known: {', '.join(sorted(keys))}")
    return row


def _attempt(value: Any) -> int | None:
    if value is None or (type(value) is int and value >= 1):
        return value
    raise BadLine(f"attempt must be an integer from 1, not {value!r}")


def _delay(value: Any) -> float:
    if type(value) in {int, float} and 0 <= value <= 1e9:
        return float(value)
    raise BadLine(f"delay_seconds must be a number from 0 to 1e9, not {value!r}")


def _replies(messages: Any) -> tuple[Reply, ...]:
    if not isinstance(messages, list) or not messages:
        raise BadLine("messages must be a list of at least one assistant message")
    return tuple(_reply(message, number) for number, message in enumerate(messages, start=1))


def _reply(given: Any, number: int) -> Reply:
    outer = _object(given, f"message {number}")
    if "message" not in outer:
        outer = {"message": outer}
    _known(outer, _WRAPPED_KEYS)
    message = _object(outer["message"], f"message {number}")
    if fault := _fault(message):
        raise BadLine(f"message {number}: {fault}")
    return Reply(
        message=message,
        finish_reason=_finish(outer.get("finish_reason"), message),
        usage=read_usage(outer.get("usage")),
    )


def _finish(given: Any, message: Mapping[str, Any]) -> str:
    if given is not None and not isinstance(given, str):
        raise BadLine(f"finish_reason must be text, not {given!r}")
    return given or ("tool_calls" if message.get("tool_calls") else "stop")


def _fault(message: Mapping[str, Any]) -> str | None:
    if message.get("role") != "assistant":
        return f"role must be assistant, not {message.get('role')!r}"
    for name in ("content", "reasoning_content", "reasoning"):
        if not isinstance(message.get(name), str | None):
            return f"{name} must be text or null"
    calls = message.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        return "tool_calls must be a list"
    return next((fault for call in calls or () if (fault := _call_fault(call))), None)


def _call_fault(call: Any) -> str | None:
    # What `arguments` hold is free: a script may well let its model write broken JSON.
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        return "each of tool_calls must be an object with a function"
    if not all(isinstance(text, str) for text in (function.get("name"), function.get("arguments"))):
        return "the name and the arguments of a tool call must be text"
    return None if isinstance(call.get("id"), str) else "a tool call needs an id"
