"""The model as an execution talks to it; with `record` every call goes into the run directory."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol, runtime_checkable

import attrs
import trio

from agentcompass.deadlines import cleanup
from agentcompass.engine.execution_state import Execution
from agentcompass.engine.issues import causes_of, first_line, leaf_of
from agentcompass.engine.job import Exchanges
from agentcompass.errors import ExecutionError, StoreError
from agentcompass.protocols import Conversation, Model
from agentcompass.records.exchange import Asked, Cause, Exchange, Fault
from agentcompass.records.issue import Issue
from agentcompass.records.model import Reply

Messages = Sequence[Mapping[str, Any]]
# The method `tell_issues` of a conversation that has more to say of its attempt than its replies:
# it takes what is told every issue from then on.
TellIssues = Callable[[Callable[[Issue], None]], None]


@runtime_checkable
class SendsBodies(Protocol):
    """A conversation that knows what it sends."""

    def body(self, messages: Messages, tools: Messages) -> Mapping[str, Any]:
        """The body of the request that `complete` makes for these, before any asks for a stream."""
        ...


def conversation_of(execution: Execution, model: Model) -> Conversation:
    """A fresh conversation of an execution; what it has to say becomes issues of the attempt."""
    conversation = model.conversation(*execution.key)
    # Not by `isinstance`, which is slow for a protocol: every execution comes by here.
    tell_issues: TellIssues | None = getattr(conversation, "tell_issues", None)
    if tell_issues is not None:
        tell_issues(execution.add_issue)
    if not execution.run.job.request.model.params.get("record"):
        return conversation
    return RecordedConversation(
        inner=conversation,
        protocol=model.id,
        execution=execution,
        file=execution.run.store.exchanges(*execution.key),
    )


@attrs.define(kw_only=True, eq=False)
class RecordedConversation:
    """Passes every call on, and writes what came of it before the harness learns of it."""

    inner: Conversation
    protocol: str
    execution: Execution
    file: Exchanges
    _id: str = attrs.field(factory=lambda: uuid.uuid4().hex, init=False)
    _steps: int = attrs.field(default=0, init=False)
    _is_incomplete: bool = attrs.field(default=False, init=False)

    async def complete(self, messages: Messages, *, tools: Messages = ()) -> Reply:
        """As the conversation itself; a call that cannot be written is a warning, once."""
        self._steps += 1
        body = _body(self.inner, messages, tools)
        call = _Call(
            step=self._steps, asked=Asked(messages=tuple(messages), tools=tuple(tools), body=body)
        )
        try:
            return await self._complete(call)
        except trio.Cancelled:  # also while it was written: the harness never learns of its end
            with cleanup(self.execution.run.cleanup):
                await self._note(call)
            raise

    def spent(self) -> Mapping[str, Any]:
        """As the conversation itself."""
        return self.inner.spent()

    async def _complete(self, call: "_Call") -> Reply:
        try:
            reply = await self.inner.complete(call.asked.messages, tools=call.asked.tools)
        except ExecutionError as error:
            await self._note(call, fault=_fault(error))
            raise
        await self._note(call, reply=reply)
        return reply

    async def _note(self, call: "_Call", **end: Any) -> None:
        exchange = Exchange(
            execution=self._id,
            step=call.step,
            protocol=self.protocol,
            started_at=call.started_at,
            seconds=round(trio.current_time() - call.began, 3),
            spent=dict(self.inner.spent()),
            **end,
        )
        try:
            await self.file.append(exchange, call.asked)
        except StoreError as error:
            if not self._is_incomplete:
                self._is_incomplete = True
                self.execution.warn("run", "recording_incomplete", f"step {call.step}: {error}")


@attrs.frozen(kw_only=True)
class _Call:
    step: int
    asked: Asked
    started_at: str = attrs.field(factory=lambda: datetime.now(UTC).isoformat())
    began: float = attrs.field(factory=trio.current_time)


def _body(conversation: Conversation, messages: Messages, tools: Messages) -> Mapping[str, Any]:
    """What goes out, or, where nothing does, what was asked."""
    if isinstance(conversation, SendsBodies):
        return conversation.body(messages, tools)
    return {"messages": list(messages), "tools": list(tools)}


def _fault(error: ExecutionError) -> Fault:
    causes = [leaf_of(cause) for cause in causes_of(error)]
    return Fault(
        kind=type(error).__name__,
        message=str(error),
        severity=error.severity,
        code=error.code,
        status_code=getattr(error, "status_code", None),
        partial=getattr(error, "partial", ""),
        causes=tuple(
            Cause(kind=type(cause).__name__, message=first_line(cause)) for cause in causes[1:]
        ),
    )
