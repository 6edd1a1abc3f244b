"""Whatever is in a record, what is exported of it is JSON that any reader takes."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from agentcompass.exporting.text import document, shallow

TEXT = st.text(st.characters(exclude_categories=()), max_size=8)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(VALUES)
def test_any_value_is_valid_json_in_utf_8_properties(value: object) -> None:
    """Fails when a lone half of a surrogate pair is left, in a text or in a name."""
    text = document(value)
    found = json.loads(text.decode("utf-8"))

    assert text.endswith(b"\n")
    assert b"\n" not in text[:-1]
    json.dumps(found, ensure_ascii=False).encode("utf-8")


def test_what_is_nested_too_deeply_is_text_from_there_on() -> None:
    assert shallow({"a": [{"b": 1}], "c": 2}, 2) == {"a": ['{"b": 1}'], "c": 2}
    assert shallow({"a": [{"b": 1}]}, 3) == {"a": [{"b": 1}]}
