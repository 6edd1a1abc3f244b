"""One call of a model as it is recorded, and replayed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import attrs

from agentcompass.errors import Severity
from agentcompass.records.model import Reply

EXCHANGE_SCHEMA = "agentcompass.exchange.v1"


@attrs.frozen(kw_only=True)
class Asked:
    """What a harness asked, in OpenAI chat form, and the `body` that goes out for it."""

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]]
    body: Mapping[str, Any]


@attrs.frozen(kw_only=True)
class Marks:
    """Digests of what was asked, by which two requests are compared without their text."""

    messages: tuple[str, ...] = ()
    tools: str = ""


@attrs.frozen(kw_only=True)
class Cause:
    """An error behind another one: the name of its class, and the first line of its text."""

    kind: str
    message: str


@attrs.frozen(kw_only=True)
class Fault:
    """What a call raised; `kind` is the name of the class, `causes` what was behind it."""

    kind: str
    message: str
    severity: Severity
    code: str
    status_code: int | None = None
    partial: str = ""
    causes: tuple[Cause, ...] = ()


@attrs.frozen(kw_only=True)
class Exchange:
    """One call, from the harness's question to its end: a reply, a fault, or cut off by neither.

    `execution` is an id of its own for each execution of the attempt; `step` counts the calls of
    it, from 1, as they were begun; `spent` is what all of them had taken when this one ended.
    """

    execution: str
    step: int
    protocol: str
    started_at: str
    seconds: float
    reply: Reply | None = None
    fault: Fault | None = None
    spent: Mapping[str, Any] = attrs.field(factory=dict)
    marks: Marks = Marks()


class RecordedReplies(Protocol):
    """The model calls that an earlier run recorded; every method blocks."""

    @property
    def directory(self) -> Path:
        """The run."""
        ...

    def executions(self, task_id: str, attempt: int) -> Sequence[Sequence[Exchange]]:
        """The calls of an attempt by its executions, as they ended; raises `StoreError`."""
        ...

    def marks(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]
    ) -> Marks:
        """What a request is compared by, once it is masked."""
        ...
