"""From a reply's text to keystrokes: what is accepted, mended, warned of and refused."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.harnesses._terminus_json import parse_json
from agentcompass.harnesses._terminus_reply import LONGEST, Keys, Parsed
from agentcompass.harnesses._terminus_xml import parse_xml

LS = {"keystrokes": "ls\n", "duration": 0.1}


def as_json(*commands: Any, **more: Any) -> str:
    return json.dumps({"analysis": "a", "plan": "p", "commands": list(commands), **more})


def as_xml(commands: str = '<keystrokes duration="0.1">ls\n</keystrokes>', more: str = "") -> str:
    inside = f"<analysis>a</analysis>\n<plan>p</plan>\n<commands>\n{commands}\n</commands>\n{more}"
    return f"<response>\n{inside}\n</response>"


GOOD = Parsed(analysis="a", plan="p", commands=(Keys(text="ls\n", seconds=0.1),))


def test_a_good_reply_is_read_without_a_word() -> None:
    assert parse_json(as_json(LS)) == GOOD
    assert parse_xml(as_xml()) == GOOD


@pytest.mark.parametrize("commands", [as_json(), as_json(task_complete=False)])
def test_no_command_is_a_look(commands: str) -> None:
    assert parse_json(commands) == Parsed(analysis="a", plan="p")
    assert parse_xml(as_xml("")) == Parsed(analysis="a", plan="p")


@pytest.mark.parametrize(
    ("given", "is_complete"),
    [(True, True), ("true", True), (" Yes", True), ("1", True), (False, False), ("no", False)],
)
def test_json_says_that_it_is_complete_as_a_flag_or_a_word(given: Any, is_complete: bool) -> None:
    parsed = parse_json(as_json(LS, task_complete=given))

    assert (parsed.is_complete, parsed.warnings) == (is_complete, ())


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("Sure!\n" + as_json(LS), "text before"),
        (as_json(LS) + "\nDone.", "text after"),
        (json.dumps({"plan": "p", "analysis": "a", "commands": [LS]}), "come as plan"),
        (as_json({**LS, "wait": 1}), "unknown fields: wait"),
        (as_json({"keystrokes": "ls\n"}), "no duration"),
        (as_json({**LS, "duration": "soon"}), "not a number"),
        (as_json({**LS, "duration": True}), "not a number"),
        (as_json({"keystrokes": "ls", "duration": 1}, LS), "does not end with a newline"),
        (as_json(LS, task_complete=3), "true or false"),
        (as_json(LS, analysis=None), "analysis should be text"),
        (as_json(LS)[:-1], "brackets were missing"),
        (as_json(LS)[:-2], "brackets were missing"),
        ("I use {braces} here: " + as_json(LS), "taken out of other text"),
        ('{"reply": ' + as_json(LS) + "}", "taken out of other text"),
    ],
)
def test_what_can_be_understood_is_executed_with_a_warning(text: str, warning: str) -> None:
    parsed = parse_json(text)

    assert parsed.error == ""
    assert parsed.commands[-1].text == "ls\n"
    assert any(warning in said for said in parsed.warnings), parsed.warnings


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "no JSON object"),
        ("I am done.", "no JSON object"),
        ("[1, 2]", "no JSON object"),
        ('{"analysis": nonsense}', "not valid"),
        ('{"analysis": "a", "plan": "p", "commands": [], "x": NaN}', "NaN"),
        (json.dumps({"analysis": "a", "commands": []}), "missing: plan"),
        (json.dumps({"analysis": "a", "plan": "p", "commands": "ls"}), "must be an array"),
        (as_json("ls"), "command 1 must be an object"),
        (as_json(LS, {"duration": 1}), "command 2 needs a field keystrokes"),
        (as_json({"keystrokes": 3}), "command 1 needs a field keystrokes"),
        (as_json(LS)[:45], "no JSON object"),
    ],
)
def test_what_cannot_be_understood_is_an_error_and_nothing_runs(text: str, error: str) -> None:
    parsed = parse_json(text)

    assert error in parsed.error
    assert (parsed.commands, parsed.is_complete, parsed.is_whole) == ((), False, False)


def test_a_bad_command_does_not_keep_a_task_from_being_complete() -> None:
    parsed = parse_json(as_json("ls", task_complete=True))

    assert (parsed.is_complete, parsed.error, parsed.commands) == (True, "", ())
    assert parsed.warnings == ("command 1 must be an object",)


def test_braces_and_quotes_in_keystrokes_end_nothing() -> None:
    keys = 'python3 -c "print({\'a\': [1]}, \\"}]\\")"\n'

    assert parse_json(as_json({"keystrokes": keys, "duration": 1})).commands[0].text == keys


def test_line_ends_inside_json_strings_are_taken_as_they_are() -> None:
    text = as_json({"keystrokes": "a\nb\n", "duration": 1}).replace("\\n", "\n")

    assert parse_json(text).commands[0].text == "a\nb\n"


@pytest.mark.parametrize(
    ("given", "seconds"), [(-1, 0.0), (0, 0.0), (59, 59.0), (1e300, LONGEST), ("2.5", 2.5)]
)
def test_durations_are_clamped(given: Any, seconds: float) -> None:
    assert parse_json(as_json({**LS, "duration": given})).commands[0].seconds == seconds


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("Sure! " + as_xml(), "text before"),
        (as_xml() + " Done.", "text after"),
        (as_xml() + as_xml(), "more than one response"),
        (as_xml().replace("<plan>p</plan>", ""), "no <plan> section"),
        (as_xml("<keystrokes>ls\n</keystrokes>"), "no duration"),
        (as_xml('<keystrokes duration="x">ls\n</keystrokes>'), "not a number"),
        (as_xml('<keystrokes duration="1" wait="2">ls\n</keystrokes>'), "attributes: wait"),
        (as_xml().replace("</response>", ""), "was missing"),
    ],
)
def test_xml_that_can_be_understood_is_executed_with_a_warning(text: str, warning: str) -> None:
    parsed = parse_xml(text)

    assert (parsed.error, parsed.commands[-1].text) == ("", "ls\n")
    assert any(warning in said for said in parsed.warnings), parsed.warnings


def test_xml_keystrokes_are_verbatim() -> None:
    keys = "cat > a.xml <<'E'\n<commands a=\"1\">&amp;</commands>\n</response>\nE\n"
    parsed = parse_xml(as_xml(f"<keystrokes duration='2'>{keys}</keystrokes>"))

    assert parsed.commands == (Keys(text=keys, seconds=2.0),)
    assert parsed.warnings == ("&amp; is typed as it stands, and not converted",)


@pytest.mark.parametrize(
    ("more", "is_complete"),
    [
        ("<task_complete>true</task_complete>", True),
        ("<task_complete> true\n</task_complete>", True),
        ("<task_complete>yes</task_complete>", False),
        ("<task_complete/>", False),
        ("", False),
    ],
)
def test_only_the_word_true_completes_in_xml(more: str, is_complete: bool) -> None:
    assert parse_xml(as_xml(more=more)).is_complete is is_complete


def test_saying_so_in_keystrokes_completes_nothing() -> None:
    keys = "<keystrokes duration='1'><task_complete>true</task_complete></keystrokes>"

    assert parse_xml(as_xml(keys)).is_complete is False


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "no <response>"),
        ("<response><analysis>a</analysis></response>", "no <commands>"),
        (as_json(LS), "no <response>"),
    ],
)
def test_xml_that_cannot_be_understood_is_an_error(text: str, error: str) -> None:
    assert error in parse_xml(text).error


def test_completing_needs_no_commands_in_xml() -> None:
    text = "<response><task_complete>true</task_complete></response>"

    assert (parse_xml(text).error, parse_xml(text).is_complete) == ("", True)


PIECES = st.sampled_from(
    (
        *('{"analysis": "a", ', '"plan": ', '"commands": [', '{"keystrokes": "', '"duration": '),
        *('"', "\\", "{", "}", "[", "]", ",", "true", "1e999", "NaN", "\n", "\x00", "\ud800"),
        *("<response>", "</response>", "<commands>", "</commands>", "<commands/>", "<keystrokes"),
        *(' duration="1"', ">", "/>", "</keystrokes>", "<analysis>", "</plan>", "&lt;"),
        *("<task_complete>true</task_complete>", "1" * 5000, "[" * 3000, '{"a":' * 300),
    )
)
TEXTS = st.lists(PIECES | st.text(max_size=5), max_size=25).map("".join)


@given(text=TEXTS)
def test_no_reply_breaks_a_parser_properties(text: str) -> None:
    """Fails without RecursionError, or without OverflowError, among what is caught."""
    for parsed in (parse_json(text), parse_xml(text)):
        assert not (parsed.error and parsed.commands)
        assert all(0 <= keys.seconds <= LONGEST for keys in parsed.commands)


@given(
    keys=st.lists(st.text(), max_size=4),
    before=st.sampled_from(("", "Here:\n", "```json\n")),
    cut=st.integers(0, 2),
)
def test_what_a_model_writes_is_what_is_typed_properties(
    keys: list[str], before: str, cut: int
) -> None:
    """Fails where brackets inside of strings are counted."""
    text = as_json(*({"keystrokes": key, "duration": 1} for key in keys))
    parsed = parse_json(before + text[: len(text) - cut])

    assert [command.text for command in parsed.commands] == keys
    assert parsed.is_whole is (cut == 0)
