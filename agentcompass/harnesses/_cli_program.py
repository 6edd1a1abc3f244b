"""What a command-line agent is to the driver: how it is installed, started and read."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

import attrs

from agentcompass.errors import Severity
from agentcompass.records.issue import Issue
from agentcompass.records.model import Usage
from agentcompass.records.request import ModelSpec

Event = Mapping[str, Any]


@attrs.frozen(kw_only=True)
class Launch:
    """How to start a program once.

    `files` are written to a folder that only its user can read, `variables` are set for it alone;
    keys belong into these and never into `argv`. The prompt comes through stdin.
    """

    argv: tuple[str, ...]
    variables: Mapping[str, str] = attrs.field(factory=dict)
    files: Mapping[str, str] = attrs.field(factory=dict)


@attrs.define(kw_only=True)
class Step:
    """One reply that the program had from its model, in OpenAI chat form, and what came of it."""

    content: str = ""
    reasoning: str = ""
    tool_calls: list[dict[str, Any]] = attrs.field(factory=list)
    observations: list[dict[str, Any]] = attrs.field(factory=list)
    usage: Usage = Usage()
    finish_reason: str | None = None

    @property
    def message(self) -> dict[str, Any]:
        """The reply as an assistant message."""
        calls = {"tool_calls": self.tool_calls} if self.tool_calls else {}
        return {
            "role": "assistant",
            "content": self.content,
            "reasoning_content": self.reasoning,
            **calls,
        }

    def calls(self, name: str, call_id: str, arguments: Any) -> None:
        """Add a tool call."""
        function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
        self.tool_calls.append({"id": call_id, "type": "function", "function": function})

    def sees(self, call_id: str, content: str) -> None:
        """Add what a tool call led to."""
        self.observations.append({"role": "tool", "tool_call_id": call_id, "content": content})


@attrs.define(kw_only=True)
class Transcript:
    """What a program printed, as far as it came.

    `usage` is of all of it where it says so, `telemetry` what else it has counted.
    """

    steps: list[Step] = attrs.field(factory=list)
    answer: str | None = None
    usage: Usage | None = None
    telemetry: dict[str, Any] = attrs.field(factory=dict)
    issues: list[Issue] = attrs.field(factory=list)


class Program(Protocol):
    """One command-line agent."""

    @property
    def command(self) -> str:
        """The program's name, looked for on the PATH."""
        ...

    @property
    def tells_usage_at_the_end(self) -> bool:
        """Whether it says what its calls took when it ends, and not reply by reply."""
        ...

    @property
    def install(self) -> str:
        """A shell script that installs it with npm."""
        ...

    def launch(self, model: ModelSpec, folder: str) -> Launch:
        """How it is started; its files will lie in `folder`."""
        ...

    @property
    def read(self) -> Callable[[Iterable[Event]], Transcript]:
        """What its output says; takes whatever is in it."""
        ...


def events_in(data: bytes) -> Iterator[Event]:
    """The JSON objects of JSON Lines; what is none, as a line that was cut off, is passed over."""
    for line in data.split(b"\n"):
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            yield event


def mapping(value: Any) -> Event:
    """The value where it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def objects(value: Any) -> list[Event]:
    """The objects of a list, and nothing of what is none."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def text(value: Any) -> str:
    """The value where it is text, the text of its parts where it is a list of them."""
    if isinstance(value, str):
        return value
    return "\n".join(text(part.get("text")) for part in objects(value))


def count(value: Any) -> int:
    """A number of tokens; 0 for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def issue(severity: Severity, code: str, message: str) -> Issue:
    """A fault of the run."""
    return Issue(severity=severity, phase="run", code=code, message=message or code)
