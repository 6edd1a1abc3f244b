"""Every ACTF trajectory, whoever wrote it, becomes a valid one in ATIF."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.records.atif import AtifAgent, atif_document
from agentcompass.store.encode import encode
from tests import atif_schema

AGENT = AtifAgent(name="mini_swe_agent", version="1.0", model_name="m", session_id="run/task/1")


def call(name: Any, arguments: Any) -> dict[str, Any]:
    return {"id": name, "type": "function", "function": {"name": "bash", "arguments": arguments}}


def step(**more: Any) -> dict[str, Any]:
    return {
        "step_id": 0,
        "system_prompt": "",
        "user_content": "",
        "tools": None,
        "assistant_content": {"content": "I act.", "reasoning_content": "", "tool_calls": []},
        "observation": [],
        "metric": {"prompt_tokens_len": 7, "completion_tokens_len": None, "llm_infer_ms": 2.0},
        "started_at": "2026-01-01T00:00:00+00:00",
        "finished_at": "2026-01-01T00:00:01+00:00",
        **more,
    }


def atif(*steps: Any) -> dict[str, Any]:
    document = atif_document({"schema_version": "ACTF_v1.0", "steps": list(steps)}, AGENT)
    assert document is not None
    atif_schema.check(document)
    return document


def test_what_was_asked_comes_before_the_reply_and_only_where_it_is_new() -> None:
    document = atif(step(system_prompt="be good", user_content="mend it"), step(), step())

    assert [(s["step_id"], s["source"]) for s in document["steps"]] == [
        (1, "system"),
        (2, "user"),
        (3, "agent"),
        (4, "agent"),
        (5, "agent"),
    ]
    assert document["session_id"] == "run/task/1"
    assert document["agent"] == {"name": "mini_swe_agent", "version": "1.0", "model_name": "m"}


def test_calls_and_what_they_led_to_belong_together() -> None:
    said = {
        "content": None,
        "reasoning_content": "hm",
        "tool_calls": [call("c1", '{"command": "ls"}'), call(None, "{"), call("c1", {"x": 1})],
    }
    seen = [{"role": "tool", "tool_call_id": "c1", "content": "a"}, {"role": "user"}, "text"]
    document = atif(step(assistant_content=said, observation=seen))

    made = document["steps"][0]
    assert [(c["tool_call_id"], c["arguments"]) for c in made["tool_calls"]] == [
        ("c1", {"command": "ls"}),
        ("call_2", {"raw": "{"}),
        ("c1+", {"x": 1}),
    ]
    assert made["observation"]["results"] == [
        {"source_call_id": "c1", "content": "a"},
        {"content": ""},
        {"content": "text"},
    ]
    assert made["reasoning_content"] == "hm"


@pytest.mark.parametrize(
    "arguments", ['{"a": NaN}', '{"a": 1e999}', '{"a": ' * 300 + "1" + "}" * 300, "[" * 99999]
)
def test_arguments_that_no_record_can_hold_are_text(arguments: str) -> None:
    """Fails when a model's reply can make the record of its attempt impossible to write."""
    said = {"content": "", "tool_calls": [call("c1", arguments)]}
    document = atif(step(assistant_content=said))

    assert document["steps"][0]["tool_calls"][0]["arguments"] == {"raw": arguments}
    encode(document)


def test_what_is_known_is_summed_and_what_is_not_is_left_out() -> None:
    paid = {"prompt_tokens_len": 5, "completion_tokens_len": 2, "cost_usd": 0.5}
    document = atif(step(), step(metric=paid), step(metric={}))

    assert document["final_metrics"] == {
        "total_prompt_tokens": 12,
        "total_completion_tokens": 2,
        "total_cost_usd": 0.5,
        "total_steps": 3,
    }
    assert "metrics" not in document["steps"][2]


def test_the_peers_times_become_iso_and_what_is_no_time_is_left_out() -> None:
    document = atif(step(finished_at="2026-01-01 00:00:01.123456"), step(finished_at="soon"))

    assert document["steps"][0]["timestamp"] == "2026-01-01T00:00:01.123456"
    assert "timestamp" not in document["steps"][1]


@pytest.mark.parametrize("trajectory", [{}, {"steps": []}, {"steps": None}, {"steps": ["x", 3]}])
def test_without_a_step_there_is_no_document(trajectory: dict[str, Any]) -> None:
    assert atif_document(trajectory, AGENT) is None


NAMES = (
    *("system_prompt", "user_content", "tools", "assistant_content", "observation", "metric"),
    *("started_at", "finished_at", "content", "reasoning_content", "tool_calls", "id"),
    *("function", "name", "arguments", "tool_call_id", "prompt_tokens_len", "cost_usd"),
)
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9)
)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=3), inner, max_size=5)
    ),
    max_leaves=20,
)
STEPS = st.lists(
    st.dictionaries(st.sampled_from(NAMES), ANYTHING, max_size=8) | ANYTHING, max_size=4
)


@given(steps=STEPS)
def test_whatever_is_in_the_steps_properties(steps: list[Any]) -> None:
    """Fails where `_mapping` lets through what is no mapping, or a call's id stays doubled."""
    document = atif_document({"steps": steps}, AGENT)

    if document is not None:
        atif_schema.check(document)
