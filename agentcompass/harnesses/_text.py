"""Text as it goes to a model: bounded, without what no server takes."""

from typing import Any

from agentcompass.records.task import TaskInput

_LIMIT = 65_536  # characters of one text of a reply


def bounded(value: Any, limit: int = _LIMIT) -> Any:
    """Text without halves of surrogate pairs, its middle left out beyond `limit` characters."""
    if not isinstance(value, str):
        return value
    if len(value) > limit:
        half, left_out = limit // 2, len(value) - 2 * (limit // 2)
        value = f"{value[:half]}\n[{left_out} characters left out]\n{value[-half:]}"
    return value if value.isascii() else _whole(value)


def _whole(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def task_text(given: TaskInput) -> str:
    """The task as one text: its prompt, or what its messages say."""
    if not given.messages:
        return given.prompt
    return "\n\n".join(str(message.get("content") or "") for message in given.messages)
