"""Unquoted scalars take the type that their field wants."""

from collections.abc import Mapping
from typing import Any, Literal

import attrs
import pytest

from agentcompass.config.scalars import Plain, settle


@attrs.frozen(kw_only=True)
class Inner:
    name: str = ""
    number: float | None = None


@attrs.frozen(kw_only=True)
class Outer:
    ids: tuple[str, ...] = ()
    names: Mapping[str, str] = attrs.field(factory=dict)
    inner: Inner | None = None
    mode: Literal["none", "1"] | None = None
    switch: bool = False
    either: int | str = 0
    anything: Any = None


@pytest.mark.parametrize(
    ("field", "written", "meant"),
    [
        ("ids", [Plain("1"), Plain("0644"), Plain("NO"), Plain("20260806_120000")], None),
        ("names", {"PORT": Plain("8080"), "V": Plain("1.10"), "B": Plain("true")}, None),
        ("inner", {"name": Plain("2026"), "number": Plain("8")}, {"name": "2026", "number": 8}),
        ("inner", Plain("null"), None),
        ("mode", Plain("none"), "none"),
        ("mode", Plain("1"), "1"),
        ("mode", Plain("~"), None),
        ("switch", Plain("true"), True),
        ("switch", Plain("NO"), "NO"),
        ("either", Plain("5"), 5),
        ("either", Plain("five"), "five"),
        ("anything", Plain("0644"), "0644"),
        ("anything", Plain("-7"), -7),
        ("anything", Plain("1.5e3"), 1500.0),
        ("anything", Plain("1_000"), "1_000"),
        ("anything", Plain("2026-08-06"), "2026-08-06"),
        ("anything", Plain("12:30:45"), "12:30:45"),
        ("anything", Plain("12345678", reference=True), "12345678"),
        ("inner", {"number": Plain("8", reference=True)}, {"number": 8}),
        ("unknown", Plain("1"), 1),
    ],
)
def test_a_scalar_is_read_as_its_field_wants(field, written, meant):
    settled = settle({field: written}, Outer)[field]

    if field == "ids":
        assert settled == [item.text for item in written]
    elif field == "names":
        assert settled == {key: item.text for key, item in written.items()}
    else:
        assert settled == meant
        assert type(settled) is type(meant)


def test_what_is_not_finite_is_still_a_number_to_be_refused():
    assert settle(Plain(".inf"), float) == float("inf")
    assert settle(Plain("-.inf"), float) == -float("inf")
    assert settle(Plain(".nan"), float) != settle(Plain(".nan"), float)


def test_settling_copies(tmp_path):
    given = {"anything": {"list": [1], "path": tmp_path}}

    settled = settle(given, Outer)
    settled["anything"]["list"].append(2)

    assert given["anything"]["list"] == [1]
    assert settled["anything"]["path"] == str(tmp_path)
