"""A conversation over HTTP: one call at a time, waiting where the endpoint has no room."""

import logging
import random
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

import attrs
import httpx
import trio

from agentcompass.deadlines import deadline
from agentcompass.errors import ModelFailed
from agentcompass.models._dialect import Dialect, Message
from agentcompass.models._endpoints import Endpoint
from agentcompass.models._faults import (
    ModelTimeout,
    RateLimited,
    Redactor,
    StreamRequired,
    refused,
    reported,
)
from agentcompass.models._http_answer import Answer, post
from agentcompass.models._memory import Memory
from agentcompass.models._meter import Bill, Meter
from agentcompass.models._prices import Prices, priced
from agentcompass.models._reading import Unusable, encode
from agentcompass.models._target import Target
from agentcompass.models._traffic import FILE_ONLY, Traffic
from agentcompass.models._waits import retry_after, wait_before_try
from agentcompass.records.model import Reply

log = logging.getLogger(__name__)


@attrs.frozen(kw_only=True)
class Line:
    """Where the calls of a model go, and what each of them carries."""

    dialect: Dialect
    endpoint: Endpoint
    target: Target
    params: Mapping[str, Any]
    request_timeout: float | None
    prices: Prices | None
    adaptive: bool
    redact: Redactor
    traffic: Traffic

    def room(self) -> AbstractAsyncContextManager[None]:
        """Wait until one more call may be made."""
        return self.endpoint.gate.admitted() if self.adaptive else nullcontext()

    def streamed(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The body as it asks for a stream."""
        return {**self.dialect.streaming, **asked, "stream": True}


@attrs.define(kw_only=True, eq=False)
class HttpConversation:
    """One execution's calls; `where` names it in the log."""

    line: Line
    where: str = ""
    meter: Meter = attrs.field(factory=Meter)
    _memory: Memory = attrs.field(factory=Memory)

    async def complete(
        self, messages: Sequence[Message], *, tools: Sequence[Message] = ()
    ) -> Reply:
        """One reply; raises `ModelFailed`, whose code is `model_timeout` where time ran out."""
        asked = self.body(messages, tools)
        with deadline(
            self.line.request_timeout, stretch="model call (request_timeout)", error=ModelTimeout
        ):
            reply = await self._until_there_is_room(asked)
        self._memory.keep(reply.message)
        return reply

    def body(self, messages: Sequence[Message], tools: Sequence[Message]) -> dict[str, Any]:
        """What is sent for these, before it asks for a stream where the endpoint insists."""
        dialect = self.line.dialect
        if dialect.wants_reasoning_back:
            messages = self._memory.restored(messages)
        return dialect.ask(self.line.params, messages, tools)

    def spent(self) -> Mapping[str, Any]:
        """What the calls took, as telemetry."""
        lowest = (
            {"lowest_concurrency": self.line.endpoint.gate.lowest} if self.line.adaptive else {}
        )
        return {**self.meter.telemetry(), **lowest}

    async def _until_there_is_room(self, asked: Mapping[str, Any]) -> Reply:
        refusals = 0
        while True:
            try:
                async with self.line.room():
                    return await self._call(asked)
            except RateLimited as refusal:
                refusals += 1
                await self._wait(refusal, refusals)

    async def _wait(self, refusal: RateLimited, number: int) -> None:
        seconds = wait_before_try(number, refusal.retry_after, random.random())  # noqa: S311
        left = trio.current_effective_deadline() - trio.current_time()
        if seconds is None or seconds >= left:
            raise _given_up(refusal, number, seconds, left) from None
        text = (self.where, refusal, seconds)
        log.info("model%s: %s; waiting %.1f s", *text, extra=FILE_ONLY)
        traffic = self.line.traffic
        traffic.waiting()
        self.meter.waits += 1
        began = trio.current_time()
        try:
            await trio.sleep(seconds)
        finally:
            waited = trio.current_time() - began
            self.meter.seconds_waited += waited
            traffic.seconds_waited += waited
        self.meter.retries += 1

    async def _call(self, asked: Mapping[str, Any]) -> Reply:
        line = self.line
        if line.endpoint.streams or asked.get("stream"):
            return await self._exchange(line.streamed(asked))
        try:
            return await self._exchange(asked)
        except StreamRequired as refusal:
            log.info("model%s: %s; streaming from now on", self.where, refusal)
        line.endpoint.streams = True
        self.meter.retries += 1
        return await self._exchange(line.streamed(asked))

    async def _exchange(self, asked: Mapping[str, Any]) -> Reply:
        request = self.line.target.request(encode(asked))
        with self.meter.call() as bill:
            began = trio.current_time()
            answer = await self._post(request)
            if answer.head.status != httpx.codes.OK:
                bill.free = True
                raise self._refusal(answer)
            reply = self._read(answer, bill)
            bill.good = True
        return Reply(
            message=reply.message,
            finish_reason=reply.finish_reason,
            usage=bill.usage,
            seconds=trio.current_time() - began,
        )

    async def _post(self, request: bytes) -> Answer:
        line = self.line
        async with line.endpoint.transport.lease(line.target.origin) as lease:
            return await post(lease, request, line.dialect.assembler, line.redact)

    def _refusal(self, answer: Answer) -> ModelFailed:
        return refused(
            answer.head.status,
            answer.body,
            self.line.redact,
            retry_after=retry_after(answer.head.get(b"retry-after"), time.time()),
            location=answer.head.get(b"location") or "",
        )

    def _read(self, answer: Answer, bill: Bill) -> Reply:
        dialect, redact = self.line.dialect, self.line.redact
        try:
            content = answer.content()
            bill.usage = priced(dialect.usage(content.get("usage")), self.line.prices)
            if answer.broken:
                bill.partial = True
                raise _broken(answer, redact)
            if error := content.get("error"):
                raise reported(error, answer.body, redact, partial=answer.partial)
            return dialect.read(content)
        except Unusable as error:
            said = f"HTTP 200, but {error}: {redact.excerpt(answer.body)}"
            raise ModelFailed(said, status_code=200) from error


def _broken(answer: Answer, redact: Redactor) -> ModelFailed:
    after = f"; it had said: {redact.line(answer.partial)}" if answer.partial else ""
    return ModelFailed(redact(f"model call: {answer.broken}{after}"), partial=answer.partial)


def _given_up(refusal: RateLimited, number: int, seconds: float | None, left: float) -> RateLimited:
    why = f"given up after {number} tries"
    if seconds is not None:
        why = f"a wait of {seconds:.1f} s is longer than the {max(0.0, left):.1f} s that are left"
    return RateLimited(
        f"{refusal} ({why})",
        status_code=refusal.status_code or 429,
        retry_after=refusal.retry_after,
        partial=refusal.partial,
    )
