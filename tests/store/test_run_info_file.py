"""run_info.json read without its plans and changed in one member, in any form of JSON."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.errors import RecordCorrupt
from agentcompass.store.run_info_file import read_without_plans, set_member
from tests.store.disks import QuickDisk

PLANS = {"t": {"attempts": {"1": {"a": 1}}}}
INFO = {"a": [1, {"b": None}], "resolved_execution_plans": PLANS, "z": "end"}
FORMS: list[dict[str, Any]] = [{"indent": 2}, {"indent": 1}, {"indent": 4}, {}]


def write(path: Path, value: Any, form: dict[str, Any]) -> Path:
    path.write_text(json.dumps(value, **form))
    return path


def test_plans_are_left_out_of_what_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "f", INFO, {"indent": 2})
    assert read_without_plans(path) == {"a": [1, {"b": None}], "z": "end"}


@pytest.mark.parametrize("over", range(-6, 3))
def test_plans_that_end_where_a_block_does_are_left_out_all_the_same(
    tmp_path: Path, over: int
) -> None:
    """Fails where the end of a member is looked for in each block alone."""
    rest = '    "t": ""\n  },'  # of the plans, once their first line is read
    plans = {"t": "x" * ((1 << 20) - len(rest) + over)}
    path = write(tmp_path / "f", {**INFO, "resolved_execution_plans": plans}, {"indent": 2})
    assert read_without_plans(path) == {"a": [1, {"b": None}], "z": "end"}


@pytest.mark.parametrize("form", FORMS)
def test_a_file_of_any_form_is_read(tmp_path: Path, form: dict[str, Any]) -> None:
    path = write(tmp_path / "f", {"z": 1, "resolved_execution_plans": PLANS}, form)
    assert read_without_plans(path)["z"] == 1


def test_a_file_that_is_not_there_or_is_damaged_is_told_apart(tmp_path: Path) -> None:
    assert read_without_plans(tmp_path / "none") is None
    path = tmp_path / "f"
    path.write_text(json.dumps(INFO, indent=2)[:-3])
    with pytest.raises(RecordCorrupt, match="not readable as JSON"):
        read_without_plans(path)


names = st.sampled_from(("a", "m", "resolved_execution_plans", "z"))
values = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(names, inner),
)


@given(st.dictionaries(names, values), names, values, st.sampled_from(FORMS), st.booleans())
def test_a_member_is_set_and_the_others_stay(
    record: dict[str, Any], name: str, value: Any, form: dict[str, Any], ascii_only: bool
) -> None:
    """Fails where the comma of the line before it or behind it is forgotten."""
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "f", record, {**form, "ensure_ascii": ascii_only})
        set_member(QuickDisk(), path, name, value)
        assert json.loads(path.read_text()) == {**record, name: value}


def test_a_file_that_we_wrote_stays_sorted_and_indented(tmp_path: Path) -> None:
    path = write(tmp_path / "f", INFO, {"indent": 2, "sort_keys": True})
    set_member(QuickDisk(), path, "m", {"x": [1]})
    assert path.read_text() == json.dumps({**INFO, "m": {"x": [1]}}, indent=2, sort_keys=True)


@pytest.mark.parametrize(
    "text",
    [
        '{\n  "a": 1,\n  "m": "x"}\n',
        '{\n  "a": 1,\n  "m": "x", "n": 2\n}\n',
        '{\n  "a": 1,\n  "m": {\n    "x": 1\n  }, "n": 2\n}\n',
        '{\n  "a": 1,\n  "b": {\n  "m": 2\n},\n  "z": 3\n}\n',
        '{\n  "a": [\n  "x",\n  "m"\n  ],\n  "z": 3\n}\n',
        '{\n  "a": 1,\n  "\\u006d": 2,\n  "z": 3\n}\n',
    ],
)
def test_a_file_edited_by_hand_loses_nothing(tmp_path: Path, text: str) -> None:
    """Fails where such lines are taken for those of members."""
    path = tmp_path / "f"
    path.write_text(text)
    set_member(QuickDisk(), path, "m", {"new": True})
    assert json.loads(path.read_text()) == {**json.loads(text), "m": {"new": True}}


@pytest.mark.parametrize(
    "text", ["", "null", "[]", '{\n  "z": 1\n', '{\n  "z": 1\n}\n{}', '{\n  "z": 1,\n}\n']
)
def test_what_is_no_object_is_refused_and_stays_as_it_is(tmp_path: Path, text: str) -> None:
    path = tmp_path / "f"
    path.write_text(text)
    with pytest.raises(RecordCorrupt):
        set_member(QuickDisk(), path, "m", 1)
    assert path.read_text() == text
