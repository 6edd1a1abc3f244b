"""A whole earlier run as a model: each call gets what the same call got then."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import trio

from agentcompass.errors import ContextTooLong, ModelFailed, StoreError
from agentcompass.records.exchange import Cause, Exchange, Fault, Marks, RecordedReplies
from agentcompass.records.issue import Issue
from agentcompass.records.model import Reply

Messages = Sequence[Mapping[str, Any]]


class ReplayFailed(ModelFailed):
    """The recorded run has no answer to this call: what follows would say nothing of the model."""

    code = "replay_failed"

    def __init__(self, message: str) -> None:
        super().__init__(message, severity="fatal")


@attrs.define(kw_only=True, eq=False)
class Source:
    """The recorded run, and how many executions of each attempt have been replayed.

    One in which no call is made counts neither here nor there. `strict` allows no difference.
    """

    calls: RecordedReplies
    strict: bool
    _begun: dict[tuple[str, int], int] = attrs.field(factory=dict, init=False)

    async def next_execution(self, task_id: str, attempt: int) -> Sequence[Exchange]:
        """The calls of the next execution of an attempt, as they ended."""
        number = self._begun.get((task_id, attempt), 0)
        self._begun[task_id, attempt] = number + 1
        try:
            found = await trio.to_thread.run_sync(self.calls.executions, task_id, attempt)
        except StoreError as error:
            raise ReplayFailed(str(error)) from error
        if number < len(found):
            return found[number]
        where = f"task {task_id!r}, attempt {attempt}"
        has = f"{len(found)} executions with calls" if found else "no call"
        raise ReplayFailed(
            f"{self.calls.directory} holds {has} of {where}; this is execution {number + 1}"
        )


@attrs.define(kw_only=True, eq=False)
class RecordedPlayback:
    """One execution on its way through a recorded one.

    A call gets what the first one left with the same request got; where there is none, what comes
    next in order, and the difference is said once.
    """

    source: Source
    task_id: str
    attempt: int
    _step: int = attrs.field(default=0, init=False)
    _left: list[tuple[int, Exchange]] | None = attrs.field(default=None, init=False)
    _spent: Mapping[str, Any] = attrs.field(factory=dict, init=False)
    _furthest: int = attrs.field(default=-1, init=False)
    _turn: trio.Lock = attrs.field(factory=trio.Lock, init=False)
    _tell: Callable[[Issue], None] | None = attrs.field(default=None, init=False)

    async def complete(self, messages: Messages, *, tools: Messages = ()) -> Reply:
        """The recorded reply; raises the recorded fault, and `ReplayFailed` where there is none."""
        self._step += 1
        step = self._step
        async with self._turn:
            if self._left is None:
                found = await self.source.next_execution(self.task_id, self.attempt)
                self._left = sorted(enumerate(found), key=lambda item: item[1].step)
            marks = await trio.to_thread.run_sync(
                self.source.calls.marks, list(messages), list(tools)
            )
            exchange = self._take(self._left, step, marks)
        self._check(step, exchange, marks, messages)
        return _outcome(exchange, self._name(step))

    def spent(self) -> Mapping[str, Any]:
        """What the calls took when they were recorded; `replayed` says that they took nothing."""
        return {**self._spent, "replayed": True} if self._spent else {"calls": 0}

    def tell_issues(self, tell: Callable[[Issue], None]) -> None:
        """Tell where the requests differ."""
        self._tell = tell

    def _take(self, left: list[tuple[int, Exchange]], step: int, marks: Marks) -> Exchange:
        in_order = next((item for item in left if item[1].step <= step), None)
        chosen = next((item for item in left if item[1].marks == marks), in_order)
        if chosen is None:
            raise ReplayFailed(
                f"{self.source.calls.directory} holds no answer for {self._name(step)}, which asks"
                f" with {len(marks.messages)} messages;"
                f" {len(left)} recorded calls are left"
            )
        left.remove(chosen)
        place, exchange = chosen
        if place > self._furthest:
            self._furthest, self._spent = place, exchange.spent
        return exchange

    def _check(self, step: int, recorded: Exchange, marks: Marks, messages: Messages) -> None:
        if recorded.marks == marks:
            return
        where = _difference(recorded.marks, marks, messages)
        text = f"{self._name(step)} differs from the recorded request: {where}"
        if self.source.strict:
            raise ReplayFailed(text)
        if self._tell is not None:
            message = f"{text}; it and later ones are answered as recorded"
            issue = Issue(severity="warning", phase="run", code="replay_differs", message=message)
            self._tell(issue)
            self._tell = None

    def _name(self, step: int) -> str:
        return f"step {step} of task {self.task_id!r}, attempt {self.attempt}"


def _outcome(exchange: Exchange, name: str) -> Reply:
    if exchange.fault is not None:
        raise _error(exchange.fault)
    if exchange.reply is None:
        raise ModelFailed(
            f"{name} was cut off after {exchange.seconds:g} s when it was recorded",
            code="replay_cut_off",
        )
    return exchange.reply


def _error(fault: Fault) -> ModelFailed:
    base = ContextTooLong if fault.kind == ContextTooLong.__name__ else ModelFailed
    error: ModelFailed = _named(fault.kind, base)(
        fault.message,
        severity=fault.severity,
        status_code=fault.status_code,
        code=fault.code,
        partial=fault.partial,
    )
    error.__cause__ = _chain(fault.causes)
    return error


def _chain(causes: Sequence[Cause]) -> Exception | None:
    if not causes:
        return None
    error: Exception = _named(causes[0].kind, Exception)(causes[0].message)
    error.__cause__ = _chain(causes[1:])
    return error


def _named(kind: str, base: type[Any]) -> Any:
    """A class of that name: issues, and patterns of what is retried, name the class of an error."""
    return base if base.__name__ == kind else type(kind, (base,), {})


def _difference(recorded: Marks, now: Marks, messages: Messages) -> str:
    pairs = zip(recorded.messages, now.messages, strict=False)
    for index, (old, new) in enumerate(pairs):
        if old != new:
            role = messages[index].get("role")
            return f"message {index + 1} of {len(now.messages)} ({role}) is another"
    if len(recorded.messages) != len(now.messages):
        return f"it has {len(now.messages)} messages, not {len(recorded.messages)}"
    return "its tools are others"
