"""Rows 59 and 60 of the cases: a bad call is answered with its true cause."""

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.harnesses._mini_actions import Action, BadFormat, read_calls, read_fenced
from tests.harnesses.seams import call, calls, runs, says

GOOD = '{"command": "ls"}'
BAD_ARGUMENTS = {
    "an open brace": ("{", "not a JSON object"),
    "a list": ("[]", "need a field `command`"),
    "null": ("null", "need a field `command`"),
    "nothing": ("", "not a JSON object"),
    "no text at all": (None, "not a JSON object"),
    "a number": (5, "not a JSON object"),
    "an empty object": ({}, "need a field `command`"),
    "another field": ('{"cmd": "ls"}', "need a field `command`"),
    "a command of a number": ('{"command": 5}', "need a field `command`"),
    "a trailing quote": (GOOD + '"', "not a JSON object"),
    "a field twice": ('{"command": "a", "command": "b"}', "given twice"),
    "depth": ("[" * 100_000, "not a JSON object"),
    "a NUL": (r'{"command": "echo \u0000"}', "no shell can be given"),
    "half a pair": (r'{"command": "echo \ud83d"}', "no shell can be given"),
}


@pytest.mark.parametrize("name", BAD_ARGUMENTS)
@pytest.mark.parametrize("finish_reason", ["tool_calls", None, "other"])
def test_bad_arguments_are_answered_with_their_fault(name: str, finish_reason: str | None):
    arguments, said = BAD_ARGUMENTS[name]
    reply = says(None, [*calls("ls"), call(arguments, call_id="c2")], finish_reason=finish_reason)

    with pytest.raises(BadFormat, match=said) as caught:
        read_calls(reply)

    assert caught.value.has_tool_calls
    assert "cut off" not in str(caught.value)


def test_a_wrong_tool_is_not_called_a_cut():
    """Row 60: the cause is the name, whatever the finish reason."""
    with pytest.raises(BadFormat, match="no tool 'python', only bash") as caught:
        read_calls(says(None, [call(GOOD, name="python")], finish_reason="length"))

    assert "cut off" not in str(caught.value)


def test_half_a_call_at_the_token_limit_is_called_a_cut():
    with pytest.raises(BadFormat, match="cut off at its token limit"):
        read_calls(says(None, [call('{"command": "ec')], finish_reason="length"))


def test_a_good_call_at_the_token_limit_is_run():
    assert read_calls(runs("ls", finish_reason="length"))[0].command == "ls"


@pytest.mark.parametrize(("reason", "cut"), [("length", True), ("stop", False), (None, False)])
def test_no_call_is_told_apart_from_a_cut(reason: str | None, cut: bool):
    with pytest.raises(BadFormat, match="no tool call") as caught:
        read_calls(says("thinking", finish_reason=reason))

    assert not caught.value.has_tool_calls
    assert ("cut off" in str(caught.value)) is cut


@pytest.mark.parametrize("broken", ["text", None, {}, {"id": "c", "function": "bash"}])
def test_a_call_without_a_function_is_answered(broken: Any):
    with pytest.raises(BadFormat, match="names no function"):
        read_calls(says(None, [broken]))


def test_two_calls_with_one_id_are_answered():
    with pytest.raises(BadFormat, match="same id"):
        read_calls(says(None, [call(GOOD), call(GOOD)]))


def test_what_a_provider_left_out_of_a_call_is_filled_in():
    """Some leave out ids and types, or give the arguments as an object."""
    bare = {"function": {"name": "bash", "arguments": {"command": "ls"}}, "signature": "s"}

    (action,) = read_calls(says(None, [bare]))

    assert action.command == "ls"
    assert action.call == {
        "id": "call_1",
        "type": "function",
        "function": {"name": "bash", "arguments": GOOD},
        "signature": "s",
    }


def test_calls_keep_their_order():
    commands = [action.command for action in read_calls(runs("a", "b", "c"))]

    assert commands == ["a", "b", "c"]


def fenced(*commands: str) -> str:
    return "I think.\n" + "\n".join(f"```mswea_bash_command\n{text}\n```" for text in commands)


def test_a_fenced_command_is_read_with_all_its_lines():
    (action,) = read_fenced(says(fenced("cat <<'E'\n```\nE\necho 1") + "\nbye"))

    # The first closing fence ends it, as in mini-swe-agent.
    assert action.command == "cat <<'E'"
    assert read_fenced(says(fenced("  a &&\n  b  ")))[0].command == "a &&\n  b"
    assert action.call is None


@pytest.mark.parametrize("content", [None, "", "```bash\nls\n```", "```mswea_bash_command ls```"])
def test_no_fenced_command_is_answered(content: str | None):
    with pytest.raises(BadFormat, match="found 0"):
        read_fenced(says(content))


def test_two_fenced_commands_are_answered_with_both():
    with pytest.raises(BadFormat, match="found 2") as caught:
        read_fenced(says(fenced("a", "b"), finish_reason="length"))

    assert caught.value.actions == ("a", "b")
    assert "cut off" not in str(caught.value)


def test_a_fence_cut_at_the_token_limit_is_called_a_cut():
    with pytest.raises(BadFormat, match="cut off"):
        read_fenced(says("```mswea_bash_command\nls", finish_reason="length"))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=8,
)
shapes = values | st.fixed_dictionaries(
    {
        "function": values
        | st.fixed_dictionaries(
            {
                "name": st.sampled_from(["bash", "sh", None]),
                "arguments": values
                | st.text(max_size=20)
                | st.fixed_dictionaries({"command": values}).map(json.dumps)
                | st.fixed_dictionaries({"command": values}),
            }
        )
    },
    optional={"id": values},
)


@given(tool_calls=st.lists(shapes, max_size=3), reason=st.sampled_from([None, "length", "stop"]))
def test_whatever_is_called_is_run_or_answered(tool_calls: list[Any], reason: str | None):
    """Fails without `str` around the id, and without the checks of types in `_action`."""
    reply = says(None, tool_calls, finish_reason=reason)
    actions: Sequence[Action] = ()
    with suppress(BadFormat):
        actions = read_calls(reply)
        assert len(actions) == len(tool_calls)

    for action in actions:
        assert action.call is not None
        assert isinstance(action.call["id"], str)
        assert json.loads(action.call["function"]["arguments"])["command"] == action.command
        assert "\0" not in action.command.encode().decode()
