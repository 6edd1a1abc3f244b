"""How a fake session behaves: how long things take, what fails, what commands print."""

import math
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

import attrs

from agentcompass.protocols import SessionRequest
from agentcompass.records.environment import ExecResult
from agentcompass.records.validators import said_as

Point = Literal[
    "open", "exec", "upload", "download", "read", "write", "set_network_policy", "close"
]


@said_as(minimum=0)
def at_least_0(_instance: object, attribute: "attrs.Attribute[Any]", value: float) -> None:
    """Validate a duration; infinity is welcome in Python, and cannot be written in JSON."""
    if not value >= 0 or value == -math.inf:
        raise ValueError(f"{attribute.name} must be a number of at least 0, not {value!r}")


def _pattern(_instance: object, _attribute: object, value: str) -> None:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"match {value!r} is not a regular expression: {error}") from error


def _points(_instance: object, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    for point in value:
        if point not in get_args(Point):
            known = ", ".join(get_args(Point))
            raise ValueError(f"{attribute.name}: {point!r} is not an operation; known: {known}")


def _seconds(default: float, text: str) -> Any:
    return attrs.field(
        default=default, validator=at_least_0, metadata={"help": text, "unit": "seconds"}
    )


@attrs.frozen(kw_only=True)
class ExecRule:
    """What the commands in which `match` is found do; the first rule that matches counts."""

    match: str = attrs.field(
        default="",
        validator=_pattern,
        metadata={"help": "Regular expression; an empty one matches all.", "unit": "pattern"},
    )
    stdout: str = attrs.field(default="", metadata={"help": "What is printed.", "unit": "text"})
    stderr: str = attrs.field(
        default="", metadata={"help": "What is printed on stderr.", "unit": "text"}
    )
    exit_code: int = attrs.field(default=0, metadata={"help": "Exit code.", "unit": "number"})
    seconds: float = _seconds(0.0, "How long the command takes.")
    writes: Mapping[str, str] = attrs.field(
        factory=dict,
        metadata={"help": "Files that the command leaves, by path.", "unit": "text by path"},
    )


@attrs.frozen(kw_only=True)
class FakeScript:
    """The behaviour of one session. All times pass on trio's clock, without a thread."""

    open_seconds: float = _seconds(0.0, "How long opening takes.")
    operation_seconds: float = _seconds(0.0, "How long a file operation takes.")
    close_seconds: float = _seconds(0.0, "How long closing takes.")
    exec: tuple[ExecRule, ...] = attrs.field(
        default=(),
        metadata={
            "help": "Rules {match, stdout, stderr, exit_code, seconds, writes} for commands;"
            " one that no rule matches prints nothing and ends with 0.",
            "unit": "rules",
        },
    )
    files: Mapping[str, str] = attrs.field(
        factory=dict,
        metadata={"help": "Files that a new session has, by path.", "unit": "text by path"},
    )
    hangs: tuple[Point, ...] = attrs.field(
        default=(),
        validator=_points,
        metadata={"help": "Operations that never end.", "unit": "operations"},
    )
    fails: Mapping[Point, str] = attrs.field(
        factory=dict,
        validator=_points,
        metadata={"help": "Operations that fail, with the message.", "unit": "text by operation"},
    )
    fail_times: int | None = attrs.field(
        default=None,
        validator=attrs.validators.optional(attrs.validators.ge(0)),
        metadata={
            "help": "How often each operation in `fails` does fail before it works; null: always.",
            "unit": "times",
        },
    )
    ignores_timeouts: bool = attrs.field(
        default=False,
        metadata={"help": "Commands outlast the time they are given.", "unit": "true or false"},
    )


@attrs.frozen(kw_only=True)
class FakeCommand:
    """A command as a session was asked for it, and for whom the session is."""

    request: SessionRequest
    command: str | Sequence[str]
    cwd: str | None = None
    env: Mapping[str, str] = attrs.field(factory=dict)
    stdin: bytes = b""
    timeout_seconds: float | None = None
    user: str | None = None

    @property
    def text(self) -> str:
        """The command as one line of shell."""
        return self.command if isinstance(self.command, str) else shlex.join(self.command)


# `ExecResult.seconds` is how long the command takes; None leaves it to the rules.
Handler = Callable[[FakeCommand], ExecResult | None]


def rule_for(script: FakeScript, command: FakeCommand) -> ExecRule:
    """The first rule that matches; where there is none, one that does nothing."""
    found = (rule for rule in script.exec if re.search(rule.match, command.text))
    return next(found, ExecRule())
