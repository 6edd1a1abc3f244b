"""One request: what the model is asked with, and what becomes of its reply."""

import base64
from typing import Any

import attrs
import pytest

from agentcompass.errors import ModelFailed, TaskInvalid
from agentcompass.harnesses.openai_chat import OpenAIChatConfig, OpenAIChatHarness
from agentcompass.models.openai_chat import OpenAIChat
from agentcompass.records.model import Reply, Usage
from agentcompass.records.request import ModelSpec
from agentcompass.records.task import RunResult, TaskInput
from tests import loopback
from tests.harnesses.seams import ScriptedModel, ScriptedSession, call, context, drive, says

PICTURE = b"\x89PNG picture"
AS_TEXT = base64.b64encode(PICTURE).decode()
AS_URL = f"data:image/png;base64,{AS_TEXT}"


async def ask(
    reply: Reply, given: TaskInput | None = None, *, system_prompt: str | None = None, **fields: Any
) -> tuple[RunResult, ScriptedModel]:
    model = ScriptedModel([reply])
    session = ScriptedSession(files={"/app/a.png": PICTURE, "/app/b": PICTURE})
    attempt = context(model)
    prepared = attrs.evolve(attempt.prepared, input=given or TaskInput(**fields))
    harness = OpenAIChatHarness(OpenAIChatConfig(system_prompt=system_prompt))
    return await drive(harness, session, attrs.evolve(attempt, prepared=prepared)), model


async def test_the_prompt_is_the_question_and_the_text_the_answer():
    usage = Usage(prompt_tokens=7, completion_tokens=1, cached_tokens=4)
    reply = says("42", usage=usage, seconds=2, reasoning_content="six by seven")
    result, model = await ask(reply, prompt="6*7?")

    assert model.asked == [[{"role": "user", "content": "6*7?"}]]
    assert result.final_answer == "42"
    assert (result.telemetry["n_calls"], result.telemetry["prompt_tokens"]) == (1, 7)
    (step,) = result.trajectory["steps"]
    assert (step["user_content"], step["assistant_content"]["content"]) == ("6*7?", "42")
    assert step["assistant_content"]["reasoning_content"] == "six by seven"
    assert step["metric"]["cached_tokens_len"] == 4


async def test_messages_stand_for_the_prompt_and_keep_their_own_system_message():
    said = ({"role": "system", "content": "own"}, {"role": "user", "content": "hi"})
    _, model = await ask(says("x"), prompt="unused", messages=said)

    assert model.asked == [list(said)]


async def test_the_tasks_system_prompt_comes_first():
    _, model = await ask(says("x"), TaskInput(prompt="hi", system_prompt="of the task"))

    assert [message["content"] for message in model.asked[0]] == ["of the task", "hi"]


async def test_a_system_prompt_of_the_harness_stands_for_every_other():
    said = ({"role": "system", "content": "own"}, {"role": "user", "content": "hi"})
    _, model = await ask(says("x"), messages=said, system_prompt="mine")

    assert [message["content"] for message in model.asked[0]] == ["mine", "hi"]


@pytest.mark.parametrize(
    ("item", "url"),
    [
        ({"type": "image", "url": "https://host/a.png"}, "https://host/a.png"),
        ({"type": "image", "data": AS_TEXT, "mime_type": "image/png"}, AS_URL),
        ({"data": PICTURE, "mime_type": "image/png"}, AS_URL),
        ({"type": "image", "path": "/app/a.png"}, AS_URL),
        ({"path": "/app/b", "mime_type": "image/webp"}, AS_URL.replace("png", "webp", 1)),
    ],
)
async def test_pictures_go_out_as_urls(item: dict[str, Any], url: str):
    _, model = await ask(says("x"), prompt="what is it?", media=(item,))

    assert model.asked[0][0]["content"] == [
        {"type": "text", "text": "what is it?"},
        {"type": "image_url", "image_url": {"url": url}},
    ]


async def test_pictures_go_with_the_last_word_of_the_user():
    said = (
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "yes?"},
        {"role": "user", "content": [{"type": "text", "text": "last"}]},
    )
    _, model = await ask(says("x"), messages=said, media=({"url": "https://host/a.png"},))

    assert model.asked[0][:2] == list(said[:2])
    assert [part["type"] for part in model.asked[0][2]["content"]] == ["text", "image_url"]


@pytest.mark.parametrize(
    "item",
    [
        {"type": "audio", "url": "https://host/a.wav"},
        {"type": "image"},
        {"path": "/app/none.png"},
        {"path": "/app/b"},
    ],
)
async def test_what_is_no_picture_is_the_tasks_fault(item: dict[str, Any]):
    with pytest.raises(TaskInvalid):
        await ask(says("x"), prompt="?", media=(item,))


async def test_tools_of_the_task_are_offered_and_calls_are_an_answer():
    tool = {"type": "function", "function": {"name": "search", "parameters": {}}}
    wanted = [call("{}", name="search")]
    result, model = await ask(says(None, wanted), prompt="?", tools=(tool,))

    assert model.tools == [(tool,)]
    assert result.final_answer == wanted


@pytest.mark.parametrize(
    "reply",
    [says(None), says(" \n"), says("", finish_reason="length", reasoning_content="I think")],
)
async def test_an_empty_reply_is_an_error_and_stays_on_record(reply: Reply):
    attempt = context(ScriptedModel([reply]))
    harness, result = OpenAIChatHarness(OpenAIChatConfig()), RunResult(task_id="t")
    async with harness.start(ScriptedSession(), attempt) as agent:
        with pytest.raises(ModelFailed, match="no text") as caught:
            await agent.run(result)

    assert (caught.value.code, caught.value.severity) == ("model_empty_output", "error")
    assert result.final_answer is None
    assert len(result.trajectory["steps"]) == 1


async def test_model_parameters_reach_the_server():
    async with loopback.serve(loopback.completion("hello")) as server:
        spec = ModelSpec(id="m", base_url=server.url, params={"temperature": 0.3, "seed": 7})
        async with OpenAIChat(spec, replies=None, connections=1) as model:
            harness = OpenAIChatHarness(OpenAIChatConfig())
            result = await drive(harness, ScriptedSession(), context(model.conversation("t", 1)))

    assert result.final_answer == "hello"
    sent = server.asked[0].json()
    assert (sent["temperature"], sent["seed"]) == (0.3, 7)
    assert sent["messages"] == [{"role": "user", "content": "Mend it."}]
