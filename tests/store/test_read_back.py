"""The short way to plain values is taken where it leads to the same, and nowhere else."""

import datetime as dt
import enum
import uuid
from collections import OrderedDict
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given

from agentcompass.store.encode import plain
from agentcompass.store.read_back import built_in, read_back
from tests import strategies


class Colour(enum.Enum):
    RED = "red"


class Text(str):
    __slots__ = ()


@attrs.frozen
class Pair:
    first: Any
    second: Any = attrs.field(default=None, metadata={"omit_none": True})


@attrs.frozen
class Named(dict[str, int]):
    """A record that is a mapping as well, and is written as one."""

    first: int = 1
    second: int = 2


def itself() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def deep(levels: int) -> Any:
    value: Any = "leaf"
    for _ in range(levels):
        value = [value]
    return value


@given(strategies.objects)
def test_what_is_plain_is_copied(value: dict[str, Any]) -> None:
    """Fails when the copy shares a part with what it is made of, or differs."""
    copy = read_back({"x": [value], "y": 1}, 100)

    assert copy is None or copy == {"x": [value], "y": 1}
    assert copy is None or copy["x"][0] is not value


def test_a_record_is_the_mapping_of_its_fields_at_any_depth_of_records() -> None:
    value = Pair(first=(Pair(1), Pair({"a": None}, ())), second=[Pair("x", 2.5)])

    copy = read_back(value, 100)

    assert list(copy) == ["first", "second"]
    assert copy == {
        "first": [{"first": 1}, {"first": {"a": None}, "second": []}],
        "second": [{"first": "x", "second": 2.5}],
    }


@pytest.mark.parametrize(
    "value",
    [
        *(float("nan"), float("inf"), -float("inf"), (1, 2), Path("a"), Colour.RED, Text("t")),
        *(uuid.UUID(int=1), dt.date(2026, 11, 29), dt.datetime(2026, 11, 29, tzinfo=dt.UTC)),
        *(OrderedDict(a=1), {1: "a"}, {1, 2}, b"x", 2**64, "\ud800", object(), itself()),
        *(Pair(1), [Pair(1)], Named()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_has_to_be_converted_or_refused_is_not(value: Any) -> None:
    """Fails when a number that is not finite becomes null, or a foreign rule is followed."""
    assert read_back({"meta": {"value": value}}, 100) is None
    assert read_back(Pair({"value": value}), 100) is None


def test_what_is_a_record_and_a_mapping_is_left_to_the_rules() -> None:
    value = Named()
    value["a"] = 3

    assert read_back(value, 100) is None
    assert plain(value) == {"a": 3}


def test_what_is_nested_too_deep_is_not() -> None:
    assert read_back(deep(20), 21) == deep(20)
    assert read_back(deep(20), 20) is None
    assert read_back([], 0) is None
    assert built_in(deep(300)) is None


def test_lists_without_an_end_are_not_nor_in_a_record() -> None:
    """Fails where only what stands in a dictionary may hold itself or go on for ever."""
    for value in (itself(), deep(5000)):
        copies = [read_back(value, 100), read_back(Pair(value), 100)]
        assert copies == [None, None]


@pytest.mark.parametrize("value", [None, "text", 1, object()])
def test_only_structures_are(value: Any) -> None:
    assert read_back(value, 100) is None
