"""The scripted model: what it answers, and which scripts it refuses."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.errors import ConfigInvalid, ModelFailed
from agentcompass.models._script import Script, Scripts
from agentcompass.models.replay import Replay
from agentcompass.records.model import Reply
from agentcompass.records.request import ModelSpec
from tests import virtual


def said(text: str | None, **rest: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **rest}


def line(task_id: str = "*", *texts: str, **rest: Any) -> dict[str, Any]:
    return {"task_id": task_id, "messages": [said(text) for text in texts or ("hi",)], **rest}


def written(tmp_path: Path, *lines: Any) -> Path:
    path = tmp_path / "replies.jsonl"
    rows = [row if isinstance(row, str) else json.dumps(row) for row in lines]
    path.write_text("\n".join(rows) + "\n")
    return path


def replay(shipped: Path | None = None, **params: Any) -> Replay:
    return Replay(ModelSpec(id="m", params=params), replies=shipped, connections=1)


async def content(model: Replay, task_id: str, attempt: int) -> Any:
    reply = await model.conversation(task_id, attempt).complete([])
    return reply.message["content"]


async def test_the_closest_script_is_taken(tmp_path: Path):
    path = written(
        tmp_path,
        line("*", "any"),
        line("*", "any 2", attempt=2),
        line("a", "a"),
        line("a", "a 2", attempt=2),
        line("b", "b", attempt=1),
    )
    async with replay(path) as model:
        assert await content(model, "a", 2) == "a 2"
        assert await content(model, "a", 1) == "a"
        assert await content(model, "b", 1) == "b"
        assert await content(model, "b", 2) == "any 2"
        assert await content(model, "c", 3) == "any"


@given(
    keys=st.sets(st.tuples(st.sampled_from(["*", "a", "b"]), st.sampled_from([None, 1, 2]))),
    task=st.sampled_from(["a", "b", "c"]),
    attempt=st.integers(1, 3),
)
def test_a_task_beats_an_attempt(keys: set[tuple[str, int | None]], task: str, attempt: int):
    """Fails when the second and the third key of `find` are exchanged."""
    scripts = Scripts({key: Script(task_id=key[0], attempt=key[1], replies=()) for key in keys})

    found = scripts.find(task, attempt)

    fitting = [key for key in keys if key[0] in {task, "*"} and key[1] in {attempt, None}]
    best = max(fitting, key=lambda key: (key[0] != "*", key[1] is not None), default=None)
    assert (found and (found.task_id, found.attempt)) == best


async def test_messages_come_in_order_and_a_fresh_conversation_starts_over(tmp_path: Path):
    async with replay(written(tmp_path, line("t", "one", "two"))) as model:
        for _ in range(2):
            conversation = model.conversation("t", 1)
            first = await conversation.complete([])
            second = await conversation.complete([{"role": "user", "content": "ignored"}])
            assert (first.message["content"], second.message["content"]) == ("one", "two")


async def test_a_message_may_bring_usage_and_reason(tmp_path: Path):
    wrapped = {
        "message": said("x"),
        "usage": {"prompt_tokens": 3, "completion_tokens": 4},
        "finish_reason": "length",
    }
    call = {"id": "1", "type": "function", "function": {"name": "bash", "arguments": "{broken"}}
    row = {"task_id": "*", "messages": [wrapped, said(None, tool_calls=[call]), said("end")]}
    async with replay(written(tmp_path, row)) as model:
        conversation = model.conversation("t", 1)
        replies = [await conversation.complete([]) for _ in range(3)]

    assert [reply.finish_reason for reply in replies] == ["length", "tool_calls", "stop"]
    assert (replies[0].usage.prompt_tokens, replies[0].usage.completion_tokens) == (3, 4)
    assert replies[1].usage.prompt_tokens is None
    assert replies[1].message["tool_calls"] == [call]


async def test_what_a_harness_does_to_a_reply_changes_no_other(tmp_path: Path):
    call = {"id": "1", "function": {"name": "bash", "arguments": "{}"}}
    row = {"task_id": "*", "messages": [said(None, tool_calls=[call])]}
    async with replay(written(tmp_path, row)) as model:
        first = await model.conversation("t", 1).complete([])
        first.message["tool_calls"].clear()
        second = await model.conversation("t", 1).complete([])

    assert second.message["tool_calls"] == [call]


async def test_a_script_that_has_run_out_says_where(tmp_path: Path):
    async with replay(written(tmp_path, line("t", "one"))) as model:
        conversation = model.conversation("t", 2)
        await conversation.complete([])
        with pytest.raises(ModelFailed) as caught:
            await conversation.complete([])

    assert "task 't', attempt 2" in str(caught.value)
    assert "step 2" in str(caught.value)
    assert (caught.value.severity, caught.value.code) == ("error", "model_failed")


async def test_a_task_without_a_script_is_a_model_fault(tmp_path: Path):
    async with replay(written(tmp_path, line("t"))) as model:
        with pytest.raises(ModelFailed, match="nothing for task 'other', attempt 1") as caught:
            await model.conversation("other", 1).complete([])

    assert (caught.value.severity, caught.value.code) == ("error", "model_failed")


def test_each_reply_comes_after_its_delay(tmp_path: Path):
    path = written(tmp_path, line("t", "one", "two", delay_seconds=1.5))

    async def main() -> tuple[list[Reply], float]:
        async with replay(path) as model:
            conversation = model.conversation("t", 1)
            started = trio.current_time()
            replies = [await conversation.complete([]) for _ in range(2)]
            return replies, trio.current_time() - started

    replies, seconds = virtual.run(main)
    assert seconds == 3
    assert [reply.seconds for reply in replies] == [1.5, 1.5]


def test_a_delay_is_bounded_as_a_call_is(tmp_path: Path):
    path = written(tmp_path, line("t", delay_seconds=60))

    async def main() -> float:
        async with replay(path, request_timeout=2) as model:
            started = trio.current_time()
            with pytest.raises(ModelFailed, match="exceeded 2 s") as caught:
                await model.conversation("t", 1).complete([])
            assert caught.value.code == "model_timeout"
            return trio.current_time() - started

    assert virtual.run(main) == 2


async def test_the_path_of_the_parameters_beats_the_benchmark_s(tmp_path: Path):
    shipped = written(tmp_path, line("*", "shipped"))
    own = tmp_path / "own.jsonl"
    own.write_text(json.dumps(line("*", "own")))

    async with replay(shipped, path=str(own)) as model:
        assert await content(model, "t", 1) == "own"


async def test_no_file_at_all_is_refused():
    with pytest.raises(ConfigInvalid, match="needs a path"):
        await replay().preflight()


async def test_a_missing_file_is_refused_by_name(tmp_path: Path):
    with pytest.raises(ConfigInvalid, match=r"absent\.jsonl cannot be read"):
        await replay(tmp_path / "absent.jsonl").preflight()


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"path": 5}, "path must be text"),
        ({"path": ""}, "path must be text"),
        ({"temperature": 0}, "temperature means nothing"),
        ({"strict": True}, "strict means nothing to the protocol replay of a script"),
        ({"record": "x"}, "record is true or false"),
        ({"request_timeout": "1"}, "request_timeout"),
    ],
)
async def test_parameters_are_honoured_or_refused(
    tmp_path: Path, params: Mapping[str, Any], said: str
):
    with pytest.raises(ConfigInvalid, match=said):
        await replay(written(tmp_path, line()), **params).preflight()


def message(**change: Any) -> dict[str, Any]:
    return {"task_id": "a", "messages": [{**said("x"), **change}]}


def call(**change: Any) -> dict[str, Any]:
    function = {"name": "bash", "arguments": "{}"}
    return message(tool_calls=[{"id": "1", "function": function, **change}])


BAD = {
    "not JSON": ("{", "not JSON: .*column"),
    "trailing text": ('{"task_id": "a"} x', "not JSON: Extra data.*column"),
    "NaN": ('{"task_id": "a", "delay_seconds": NaN, "messages": []}', "NaN is not JSON"),
    "twice": ('{"task_id": "a", "task_id": "b"}', "key task_id is twice"),
    "a long number": ('{"task_id": ' + "1" * 5000 + "}", "limit"),
    "deep": ("[" * 100_000, "nested too deeply"),
    "a list": ("[]", "the line must be an object"),
    "unknown key": (line("a", delay=1), "unknown key delay; known: attempt, delay_seconds"),
    "no task": ({"messages": [said("x")]}, "task_id"),
    "task of a number": ({"task_id": 1, "messages": [said("x")]}, "task_id"),
    "attempt 0": (line("a", attempt=0), "attempt"),
    "attempt true": (line("a", attempt=True), "attempt"),
    "negative delay": (line("a", delay_seconds=-1), "delay_seconds"),
    "no messages": ({"task_id": "a"}, "messages must be a list"),
    "empty messages": ({"task_id": "a", "messages": []}, "messages must be a list"),
    "message of text": ({"task_id": "a", "messages": ["hi"]}, "message 1 must be an object"),
    "a user": (message(role="user"), "message 1: role must be assistant, not 'user'"),
    "no role": ({"task_id": "a", "messages": [{"content": "x"}]}, "role must be assistant"),
    "content of parts": (message(content=[]), "content must be text or null"),
    "calls of an object": (message(tool_calls={}), "tool_calls must be a list"),
    "a call of text": (message(tool_calls=["x"]), "an object with a function"),
    "a call without id": (call(id=None), "needs an id"),
    "arguments of an object": (call(function={"name": "x", "arguments": {}}), "must be text"),
    "an outer key": ({"task_id": "a", "messages": [{"message": said("x"), "cost": 1}]}, "unknown"),
    "a reason": (
        {"task_id": "a", "messages": [{"message": said("x"), "finish_reason": 1}]},
        "finish_reason",
    ),
}


@pytest.mark.parametrize("name", BAD)
async def test_a_bad_line_is_refused_with_its_number_and_reason(tmp_path: Path, name: str):
    bad, reason = BAD[name]
    path = written(tmp_path, line("good"), "", bad)

    with pytest.raises(ConfigInvalid, match=rf"replies.jsonl:3: .*{reason}"):
        await replay(path).preflight()


async def test_every_bad_line_is_named_at_once(tmp_path: Path):
    path = written(tmp_path, "{", line("a"), line("a"), line("a", attempt=1), line("a", attempt=1))

    with pytest.raises(ConfigInvalid) as caught:
        await replay(path).preflight()

    assert [fault.split(":")[1] for fault in caught.value.faults] == ["1", "3", "5"]
    assert "task 'a', any attempt, has a line already" in caught.value.faults[1]
    assert "task 'a', attempt 1, has a line already" in caught.value.faults[2]


async def test_of_a_file_that_is_no_script_at_all_only_the_first_lines_are_named(tmp_path: Path):
    with pytest.raises(ConfigInvalid) as caught:
        await replay(written(tmp_path, *["{"] * 400)).preflight()

    *first, rest = caught.value.faults
    assert [fault.split(":")[1] for fault in first] == ["1", "2", "3", "4", "5"]
    assert rest.endswith(": and 395 more lines that cannot be used")


async def test_an_empty_file_is_refused(tmp_path: Path):
    with pytest.raises(ConfigInvalid, match="hold no line"):
        await replay(written(tmp_path, "")).preflight()
