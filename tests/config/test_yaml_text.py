"""YAML: scalars as written, keys unique, one document, no tags."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.config.scalars import Plain, settle
from agentcompass.config.yaml_text import YamlInvalid, dump, parse


def test_scalars_keep_their_text():
    found = parse("a: 20260806_120000\nb: NO\nc: 0644\nd: 1.10\ne: 'x'\nf:\n")

    assert [item.text for item in list(found.values())[:4]] == [
        "20260806_120000",
        "NO",
        "0644",
        "1.10",
    ]
    assert found["e"] == "x"
    assert found["f"] == Plain("")


def test_anchors_and_merge_keys_are_read():
    found = parse("base: &base {a: x, b: y}\nmore: {<<: *base, b: z}\n")

    assert settle(found["more"], dict[str, str]) == {"a": "x", "b": "z"}


# Nine lines that stand for 10^9 values.
BILLIONS = "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}' if n else 'x'] * 10)}]\n" for n in range(9)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2", "line 2 column 1: duplicate key a"),
        ("a: [", "line 1 column 5: "),
        ("? [a]\n: 1", "a key must be text"),
        ("a: !!python/name:os.system x", "line 1 column 4: the tag .* is not read"),
        ("a: !!int 5", "line 1 column 4: the tag .* is not read"),
        ("a: 1\n---\na: 2", "another document"),
        ("&a [*a]", "recursive"),
        ("\ta: 1", "line 1 column 1"),
        ("[" * 5000, "nested too deeply"),
        ("a: \x00", "special characters"),
        (BILLIONS, "line 1 column 1: its aliases repeat more than 100000 values"),
    ],
)
def test_what_has_two_meanings_or_runs_code_is_refused_in_one_line(text, message):
    with pytest.raises(YamlInvalid, match=message) as refused:
        parse(text)

    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["1e5", "0644", "NO", "null", "2026-08-06", "1:30", "", "~", ".5"])
def test_text_that_looks_like_something_else_stays_text(text):
    assert settle(parse(dump({"a": text})), dict[str, Any]) == {"a": text}


_texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=8)


@given(st.dictionaries(_texts, _texts | st.integers() | st.booleans() | st.none(), max_size=4))
def test_what_is_dumped_is_read_back(value):
    """Fails when text such as `NO` or `2026` is dumped without quotes."""
    assert settle(parse(dump({"all": value})), dict)["all"] == value
