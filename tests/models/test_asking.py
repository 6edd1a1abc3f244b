"""What a conversation in the neutral form becomes in protocols that have another one."""

from typing import Any

import pytest

from agentcompass.models._anthropic_ask import ask_anthropic
from agentcompass.models._responses_ask import ask_responses
from tests.loopback import answer
from tests.loopback_models import Said, whole
from tests.models.talking import ASK, talking

PIXEL = "data:image/png;base64,iVBORw0KGgo="
TOOL = {
    "type": "function",
    "function": {"name": "bash", "description": "Run.", "parameters": {"type": "object"}},
}


def call(arguments: Any = '{"command": "ls"}', call_id: str = "c1") -> dict[str, Any]:
    function = {"name": "bash", "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


HISTORY: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "List."},
    {"role": "assistant", "content": "I look.", "tool_calls": [call(), call("{}", "c2")]},
    {"role": "tool", "tool_call_id": "c1", "content": "a\nb"},
    {"role": "tool", "tool_call_id": "c2", "content": ""},
    {"role": "user", "content": "And?"},
    {"role": "assistant", "content": None, "tool_calls": [call("{broken", "c3")]},
    {"role": "tool", "tool_call_id": "c3", "content": "bad JSON"},
]


def test_a_history_becomes_turns_of_anthropic():
    body = ask_anthropic({"model": "m"}, HISTORY, [TOOL])

    ls = {"command": "ls"}
    assert body == {
        "model": "m",
        "max_tokens": 8192,
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "List."}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "c1", "name": "bash", "input": ls},
                    {"type": "tool_use", "id": "c2", "name": "bash", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": [{"type": "text", "text": "a\nb"}],
                    },
                    {"type": "tool_result", "tool_use_id": "c2", "content": []},
                    {"type": "text", "text": "And?"},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {
                        "type": "tool_use",
                        "id": "c3",
                        "name": "bash",
                        "input": {"arguments": "{broken"},
                    }
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c3",
                        "content": [{"type": "text", "text": "bad JSON"}],
                    }
                ],
            },
        ],
        "tools": [{"name": "bash", "description": "Run.", "input_schema": {"type": "object"}}],
    }


def test_a_history_becomes_items_of_responses():
    body = ask_responses({"model": "m"}, HISTORY, [TOOL])

    item = {"type": "function_call", "name": "bash"}
    output = "function_call_output"
    assert body == {
        "model": "m",
        "input": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "List."},
            {"role": "assistant", "content": "I look."},
            {**item, "call_id": "c1", "arguments": '{"command": "ls"}'},
            {**item, "call_id": "c2", "arguments": "{}"},
            {"type": output, "call_id": "c1", "output": "a\nb"},
            {"type": output, "call_id": "c2", "output": ""},
            {"role": "user", "content": "And?"},
            {**item, "call_id": "c3", "arguments": "{broken"},
            {"type": output, "call_id": "c3", "output": "bad JSON"},
        ],
        "tools": [
            {
                "type": "function",
                "strict": False,
                "name": "bash",
                "description": "Run.",
                "parameters": {"type": "object"},
            }
        ],
    }


def test_images_are_converted():
    picture = {"type": "image_url", "image_url": {"url": PIXEL, "detail": "low"}}
    elsewhere = {"type": "image_url", "image_url": "https://x/y.png"}
    content = [{"type": "text", "text": "See:"}, picture, elsewhere]
    messages = [
        {"role": "user", "content": content},
        {"role": "assistant", "content": "", "tool_calls": [call()]},
        {"role": "tool", "tool_call_id": "c1", "content": [picture]},
    ]

    claude = ask_anthropic({}, messages, ())["messages"]
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    assert claude[0]["content"] == [
        {"type": "text", "text": "See:"},
        {"type": "image", "source": source},
        {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
    ]
    assert claude[2]["content"][0]["content"] == [{"type": "image", "source": source}]

    items = ask_responses({}, messages, ())["input"]
    assert items[0]["content"] == [
        {"type": "input_text", "text": "See:"},
        {"type": "input_image", "image_url": PIXEL, "detail": "low"},
        {"type": "input_image", "image_url": "https://x/y.png", "detail": "auto"},
    ]
    assert items[2]["output"] == [
        {"type": "input_image", "image_url": PIXEL, "detail": "low"},
    ]


def test_a_late_system_message_stays_in_its_place():
    messages = [*HISTORY[:2], {"role": "system", "content": "Hurry."}]

    body = ask_anthropic({}, messages, ())

    assert body["system"] == "Be brief."
    assert [block["text"] for block in body["messages"][0]["content"]] == ["List.", "Hurry."]


def test_a_system_message_may_come_in_parts():
    parts = [{"type": "text", "text": "Be "}, "brief."]
    messages = [{"role": "system", "content": parts}, {"role": "developer", "content": "Now."}]

    body = ask_anthropic({}, [*messages, {"role": "user", "content": ["a", ""]}], ())

    assert body["system"] == "Be brief.\n\nNow."
    assert body["messages"][0]["content"] == [{"type": "text", "text": "a"}]


def test_tools_of_another_kind_go_out_as_they_are():
    tool = {"type": "web_search"}

    assert ask_anthropic({}, ASK, [tool])["tools"] == [tool]
    assert ask_responses({}, ASK, [tool])["tools"] == [tool]


def test_a_number_of_tokens_is_the_users_to_choose():
    assert ask_anthropic({"max_tokens": 5}, ASK, ())["max_tokens"] == 5


def test_what_was_not_stored_is_sent_back_in_its_encrypted_form_only():
    plain = {"type": "reasoning", "id": "rs_1", "summary": []}
    sealed = {**plain, "encrypted_content": "x"}

    def back(detail: Any, **params: Any) -> list[Any]:
        message = {"role": "assistant", "content": "a", "reasoning_details": [detail]}
        items = ask_responses(params, [message], ())["input"]
        return [item for item in items if item.get("type") == "reasoning"]

    assert back(plain) == [plain]
    assert back(plain, store=False) == []
    assert back(sealed, store=False) == [sealed]
    assert back({"type": "thinking", "thinking": "another provider's"}) == []


@pytest.mark.parametrize("keeps_it", [True, False])
@pytest.mark.parametrize("protocol", ["anthropic", "openai-responses"])
async def test_reasoning_goes_back_with_its_call_whether_or_not_the_harness_keeps_it(
    protocol: str, keeps_it: bool
):
    said = Said(text=None, thought="hm", calls=[("c1", "bash", "{}")], finish="tool_calls")
    async with talking(protocol, whole(protocol, said)) as (chat, server):
        first = (await chat.complete(ASK)).message
        kept = first if keeps_it else {**first, "reasoning_details": None}
        result = {"role": "tool", "tool_call_id": "c1", "content": "ok"}
        await chat.complete([*ASK, kept, result])

    body = server.asked[1].json()
    if protocol == "anthropic":
        back = body["messages"][1]["content"][0]
        assert back == {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    else:
        back = body["input"][1]
        assert back["id"] == "rs_1"
        assert back["summary"] == [{"type": "summary_text", "text": "hm"}]


async def test_a_chat_history_goes_out_as_it_is():
    async with talking("openai-chat", whole("openai-chat", Said())) as (chat, server):
        await chat.complete(HISTORY, tools=[TOOL])

    assert server.asked[0].json() == {"model": "m", "messages": HISTORY, "tools": [TOOL]}


async def test_redacted_thinking_is_kept_and_sent_back():
    sealed = {"type": "redacted_thinking", "data": "xyz"}
    tool = {"type": "tool_use", "id": "c1", "name": "bash", "input": {"a": 1}}

    body = {"content": [sealed, tool], "stop_reason": "tool_use"}
    async with talking("anthropic", answer(body)) as (chat, server):
        first = await chat.complete(ASK)
        await chat.complete([*ASK, first.message])

    assert "reasoning_content" not in first.message
    assert server.asked[1].json()["messages"][1]["content"] == [sealed, tool]
