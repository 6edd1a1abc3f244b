"""A recorded run as a model: what a call gets, what is said of a difference, what is a miss."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from agentcompass.engine.issues import issue_from
from agentcompass.errors import ConfigInvalid, ContextTooLong, ModelFailed, RecordCorrupt
from agentcompass.models._recorded import RecordedPlayback
from agentcompass.models.replay import Replay
from agentcompass.records.exchange import Cause, Exchange, Fault, Marks
from agentcompass.records.issue import Issue
from agentcompass.records.model import Reply, Usage
from agentcompass.records.request import ModelSpec

Messages = Sequence[Mapping[str, Any]]


@attrs.define
class Calls:
    """Recorded executions of attempt 1 of task `t`; a mark is the text itself."""

    recorded: list[list[Exchange]]
    directory: Path = Path("/the/run")
    fault: Exception | None = None

    def executions(self, task_id: str, attempt: int) -> list[list[Exchange]]:
        if self.fault is not None:
            raise self.fault
        return self.recorded if (task_id, attempt) == ("t", 1) else []

    def marks(self, messages: Messages, tools: Messages) -> Marks:
        return Marks(messages=tuple(m["content"] for m in messages), tools=str(list(tools)))


def ask(*texts: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text} for text in texts]


def call(step: int, *texts: str, **end: Any) -> Exchange:
    """A call that was asked with these texts; its reply says its step."""
    reply = Reply(
        message={"role": "assistant", "content": f"reply {step}"},
        usage=Usage(prompt_tokens=step, cost_usd=0.5),
        seconds=7.0,
    )
    return Exchange(
        execution="x",
        step=step,
        protocol="anthropic",
        started_at="then",
        seconds=7.25,
        marks=Marks(messages=texts, tools="[]"),
        spent={"calls": step, "cost_usd": step * 0.5},
        **({"reply": reply} | end),
    )


@attrs.define
class Played:
    model: Replay
    issues: list[Issue] = attrs.field(factory=list)

    def begin(self, task_id: str = "t", attempt: int = 1) -> RecordedPlayback:
        playback = self.model.conversation(task_id, attempt)
        assert isinstance(playback, RecordedPlayback)
        playback.tell_issues(self.issues.append)
        return playback


def played(*executions: list[Exchange], fault: Exception | None = None, **params: Any) -> Played:
    calls = Calls(list(executions), fault=fault)
    spec = ModelSpec(id="m", params={"path": "/the/run", **params})
    return Played(Replay(spec, replies=calls, connections=1))


async def said(playback: RecordedPlayback, *texts: str, **rest: Any) -> Any:
    return (await playback.complete(ask(*texts), **rest)).message["content"]


async def test_each_call_gets_what_it_got_then_and_costs_what_it_cost_but_is_marked():
    playback = played([call(1, "a"), call(2, "a", "b")]).begin()
    assert playback.spent() == {"calls": 0}

    reply = await playback.complete(ask("a"))
    assert (reply.usage.prompt_tokens, reply.seconds) == (1, 7.0)
    assert playback.spent() == {"calls": 1, "cost_usd": 0.5, "replayed": True}
    assert await said(playback, "a", "b") == "reply 2"
    assert playback.spent() == {"calls": 2, "cost_usd": 1.0, "replayed": True}


async def test_calls_at_once_each_get_their_own_answer_whatever_their_order():
    playback = played([call(2, "b"), call(1, "a"), call(3, "c")]).begin()  # as they ended
    got: dict[str, str] = {}

    async def one(text: str) -> None:
        got[text] = await said(playback, text)

    async with trio.open_nursery() as nursery:
        for text in ("c", "a", "b"):
            nursery.start_soon(one, text)

    assert got == {"a": "reply 1", "b": "reply 2", "c": "reply 3"}
    assert playback.spent()["calls"] == 3


async def test_what_was_taken_is_that_of_the_call_that_ended_last():
    playback = played([call(2, "b"), call(1, "a"), call(3, "c")]).begin()

    assert [await said(playback, "c"), await said(playback, "b")] == ["reply 3", "reply 2"]
    assert playback.spent()["calls"] == 3


async def test_the_same_request_twice_is_answered_in_order():
    playback = played([call(1, "a"), call(2, "a")]).begin()

    assert [await said(playback, "a"), await said(playback, "a")] == ["reply 1", "reply 2"]


@pytest.mark.parametrize(
    ("texts", "tools", "where"),
    [
        (("a", "x", "c"), (), r"message 2 of 3 \(user\) is another"),
        (("a",), (), "it has 1 messages, not 3"),
        (("a", "b", "c"), ({"name": "new"},), "its tools are others"),
    ],
)
async def test_a_difference_is_said_once_and_where_it_is(
    texts: tuple[str, ...], tools: Messages, where: str
):
    run = played([call(1, "a", "b", "c"), call(2, "d")])
    playback = run.begin()
    assert await said(playback, *texts, tools=tools) == "reply 1"
    assert await said(playback, "another") == "reply 2"

    (issue,) = run.issues
    assert (issue.severity, issue.phase, issue.code) == ("warning", "run", "replay_differs")
    name = "step 1 of task 't', attempt 1 differs from the recorded request"
    assert re.search(f"{name}: {where}", issue.message)


async def test_strict_is_an_error_instead():
    run = played([call(1, "a")], strict=True)
    with pytest.raises(ModelFailed, match="step 1 of task 't', attempt 1 differs") as caught:
        await run.begin().complete(ask("b"))

    assert (caught.value.severity, caught.value.code) == ("fatal", "replay_failed")
    assert run.issues == []


@pytest.mark.parametrize("strict", ["yes", 1])
async def test_strict_is_true_or_false(strict: Any):
    with pytest.raises(ConfigInvalid, match="strict is true or false"):
        await played(strict=strict).model.preflight()


async def test_each_execution_replays_its_own_and_one_without_a_call_counts_nowhere():
    run = played([call(1, "a")], [call(1, "a", reply=None), call(2, "a")])
    run.begin()  # its harness did not come so far

    assert await said(run.begin(), "a") == "reply 1"
    second = run.begin()
    with pytest.raises(ModelFailed, match=r"was cut off after 7\.25 s when it was recorded") as cut:
        await second.complete(ask("a"))
    assert (cut.value.severity, cut.value.code) == ("error", "replay_cut_off")
    assert await said(second, "a") == "reply 2"
    with pytest.raises(ModelFailed, match=r"holds 2 executions with calls of .* is execution 3"):
        await run.begin().complete(ask("a"))


async def test_a_miss_names_task_attempt_and_step_and_is_fatal():
    run = played([call(1, "a"), call(3, "c")])
    with pytest.raises(ModelFailed, match="/the/run holds no call of task 'u', attempt 1") as miss:
        await run.begin("u").complete(ask("a"))
    assert (miss.value.severity, miss.value.code) == ("fatal", "replay_failed")

    playback = run.begin()
    await playback.complete(ask("a"))
    said_then = (
        "no answer for step 2 of task 't', attempt 1, which asks with 2 messages; 1 recorded"
    )
    with pytest.raises(ModelFailed, match=said_then):  # step 2 could not be written then
        await playback.complete(ask("a", "b"))


async def test_a_recording_that_cannot_be_read_is_a_miss():
    with pytest.raises(ModelFailed, match="line 3: torn") as caught:
        await played(fault=RecordCorrupt("line 3: torn")).begin().complete(ask("a"))

    assert caught.value.severity == "fatal"


FAULTS = {
    "a timeout": Fault(kind="ModelTimeout", message="slow", severity="error", code="model_timeout"),
    "a rate limit": Fault(
        kind="RateLimited", message="busy", severity="fatal", code="model_failed", status_code=429
    ),
    "a cut connection": Fault(
        kind="ModelFailed",
        message="model call: cut",
        severity="error",
        code="model_failed",
        partial="half",
        causes=(Cause(kind="ReadError", message="cut"), Cause(kind="OSError", message="reset")),
    ),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_a_fault_is_the_same_issue_again(fault: Fault):
    with pytest.raises(ModelFailed) as caught:
        await played([call(1, "a", reply=None, fault=fault)]).begin().complete(ask("a"))

    error = caught.value
    assert type(error).__name__ == fault.kind
    assert (str(error), error.partial, error.status_code) == (
        fault.message,
        fault.partial,
        fault.status_code,
    )
    issue = issue_from(error, phase="run_harness")
    causes = [f"{cause.kind}: {cause.message}" for cause in fault.causes]
    assert (issue.severity, issue.code) == (fault.severity, fault.code)
    assert issue.message.endswith(" <- ".join([f"{fault.kind}: {fault.message}", *causes]))


async def test_a_full_context_is_one_that_a_harness_can_catch():
    fault = Fault(kind="ContextTooLong", message="full", severity="error", code="model_failed")
    with pytest.raises(ContextTooLong, match="full"):
        await played([call(1, "a", reply=None, fault=fault)]).begin().complete(ask("a"))
