"""A conversation that is recorded: what is noted of each call, however it ends."""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import pytest
import trio

from agentcompass.deadlines import CleanupClock
from agentcompass.engine.recording import RecordedConversation
from agentcompass.errors import ContextTooLong, StoreError
from agentcompass.records.exchange import Asked, Cause, Exchange
from tests.harnesses.seams import ScriptedModel, says

ASK = [{"role": "user", "content": "hello"}]


@attrs.define
class Attempt:
    """What a recording needs of an execution."""

    cleanup: CleanupClock = attrs.field(factory=lambda: CleanupClock(5))
    warnings: list[tuple[str, ...]] = attrs.field(factory=list)

    @property
    def run(self) -> "Attempt":
        return self

    def warn(self, *warning: str) -> None:
        self.warnings.append(warning)


@attrs.define
class Notes:
    """Takes `seconds` to write; `fails` is raised instead."""

    seconds: float = 0.0
    fails: StoreError | None = None
    noted: list[tuple[Exchange, Asked]] = attrs.field(factory=list)

    async def append(self, exchange: Exchange, asked: Asked) -> None:
        await trio.sleep(self.seconds)
        if self.fails is not None:
            raise self.fails
        self.noted.append((exchange, asked))


class Sender(ScriptedModel):
    """Says what it sends."""

    def body(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]
    ) -> Mapping[str, Any]:
        return {"model": "m", "input": list(messages)}

    def spent(self) -> Mapping[str, Any]:
        return {"calls": len(self.asked)}


def recorded(
    *replies: Any, seconds: float = 0.0, **notes: Any
) -> tuple[RecordedConversation, Notes, Attempt]:
    attempt, file = Attempt(), Notes(**notes)
    conversation = RecordedConversation(
        inner=Sender(replies, seconds),
        protocol="anthropic",
        execution=attempt,  # type: ignore[arg-type]
        file=file,
    )
    return conversation, file, attempt


async def test_a_reply_is_noted_before_the_harness_has_it(autojump_clock):
    chat, file, _ = recorded(says("hi"), seconds=3)
    tools = ({"name": "bash"},)
    reply = await chat.complete(ASK, tools=tools)

    ((exchange, asked),) = file.noted
    assert (exchange.step, exchange.protocol, exchange.seconds) == (1, "anthropic", 3)
    assert (exchange.reply, exchange.fault, exchange.spent) == (reply, None, {"calls": 1})
    assert asked.body == {"model": "m", "input": ASK}
    assert (list(asked.messages), asked.tools) == (ASK, tools)
    assert chat.spent() == {"calls": 1}


async def test_a_fault_is_noted_with_what_was_behind_it_and_flies_on():
    fault = ContextTooLong("full", status_code=400, partial="half")
    fault.__cause__ = ValueError("first line\nsecond")
    chat, file, _ = recorded(fault)
    with pytest.raises(ContextTooLong):
        await chat.complete(ASK)

    ((exchange, _),) = file.noted
    assert exchange.fault is not None
    assert exchange.reply is None
    assert exchange.fault.kind == "ContextTooLong"
    assert (exchange.fault.status_code, exchange.fault.partial) == (400, "half")
    assert exchange.fault.causes == (Cause(kind="ValueError", message="first line"),)


async def test_a_call_that_is_cut_off_is_noted_all_the_same(autojump_clock):
    chat, file, _ = recorded(says("late"), seconds=60)
    with trio.move_on_after(2) as scope:
        await chat.complete(ASK)

    assert scope.cancelled_caught
    ((exchange, _),) = file.noted
    assert (exchange.reply, exchange.fault, exchange.seconds) == (None, None, 2)


@pytest.mark.parametrize("outcome", [says("hi"), ContextTooLong("full")])
async def test_a_call_whose_end_the_harness_never_learns_is_one_that_was_cut_off(
    autojump_clock, outcome: Any
):
    chat, file, _ = recorded(outcome)
    file.seconds = 3
    with trio.move_on_after(2) as scope:
        await chat.complete(ASK)

    assert scope.cancelled_caught
    ((exchange, _),) = file.noted
    assert (exchange.step, exchange.reply, exchange.fault) == (1, None, None)


async def test_a_disk_that_hangs_holds_a_cancelled_attempt_no_longer_than_cleanup_may(
    autojump_clock,
):
    chat, _, _ = recorded(says("late"), seconds=60)
    chat.file = Notes(seconds=1000)
    with trio.move_on_after(2):
        await chat.complete(ASK)

    assert trio.current_time() == 2 + 5


async def test_what_cannot_be_written_is_said_once_and_ends_nothing():
    chat, _, attempt = recorded(says("hi"), fails=StoreError("exchanges.jsonl: disk full"))
    for _ in range(3):
        await chat.complete(ASK)

    said = ("run", "recording_incomplete", "step 1: exchanges.jsonl: disk full")
    assert attempt.warnings == [said]


async def test_calls_at_once_are_numbered_as_they_begin_and_noted_as_they_end(autojump_clock):
    chat, file, _ = recorded(says("hi"))
    sender: Any = chat.inner

    async def ask(after: float, seconds: float) -> None:
        await trio.sleep(after)
        sender.seconds = seconds
        await chat.complete(ASK)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, 0, 9)
        nursery.start_soon(ask, 1, 2)

    assert [exchange.step for exchange, _ in file.noted] == [2, 1]
    assert len({exchange.execution for exchange, _ in file.noted}) == 1
