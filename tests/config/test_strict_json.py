"""JSON as typed: one meaning or an error with its place (cases.md 73)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.config.strict_json import JsonInvalid, parse

_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(_json, st.booleans())
def test_whatever_json_can_say_is_read(value, ascii_only):
    """Fails when a token pattern takes a brace or a colon inside text for structure."""
    assert parse(json.dumps(value, ensure_ascii=ascii_only)) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{'a': 1}", r"line 1 column 2: expecting property name enclosed in double quotes"),
        ('{"a": NaN}', r"line 1 column 7: NaN is not a finite number"),
        ('{"a": -Infinity}', r"line 1 column 7: -Infinity is not a finite number"),
        ('{"a": 1e999}', r"line 1 column 7: 1e999 is not a finite number"),
        ('{"a": 1}}', r"line 1 column 9: extra data"),
        ('{"a": 1,}', r"line 1 column \d: "),
        ('{"a": 1, "b": 2, "a": 3}', r'line 1 column 18: duplicate key "a"'),
        ('{"a": {"b": 1,\n "b": 2}}', r'line 2 column 2: duplicate key "b"'),
        ('{"a": 1, "\\u0061": 3}', r"line 1 column 10: duplicate key"),
        ("", r"line 1 column 1: expecting value"),
        ("@file", r"line 1 column 1: expecting value"),
        ("a: 1", r"line 1 column 1: expecting value"),
        ("[" * 5000, r"nested deeper than 100"),
        ("[" * 200 + "]" * 200, r"line 1 column 101: nested deeper than 100"),
        ("1" * 5000, r"integer"),
    ],
)
def test_what_is_not_json_or_has_two_meanings_is_refused_with_its_place(text, message):
    with pytest.raises(JsonInvalid, match=message):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        '[{"a": 1}, {"a": 2}]',
        '{"a": {"a": {"a": 1}}, "b": {"a": 2}}',
        '{"a": "x\\": {\\"a", "b": "a"}',
        '{"a": 123456789012345678901234567890}',
        '{"a:b,c=d e": "\\ud83d\\ude00"}',
    ],
)
def test_equal_keys_of_different_objects_and_odd_text_are_fine(text):
    assert parse(text) == json.loads(text)
