"""What becomes of values that JSON has no form for (cases 24 and 26)."""

import datetime as dt
import enum
import json
import uuid
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given

from agentcompass.errors import RecordCorrupt, StoreError
from agentcompass.records.environment import NetworkPolicy
from agentcompass.store.encode import NotPlain, decode, dump, encode, plain
from tests import strategies


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Text(str):
    __slots__ = ()


class Scalar:
    """As numpy's: a shape without dimensions, and `item`."""

    shape = ()

    def __init__(self, value: Any) -> None:
        self.value = value

    def item(self) -> Any:
        return self.value


class Array:
    shape = (2,)

    def item(self) -> Any:
        raise ValueError("not a scalar")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Decimal("0.25"), 0.25),
        (Decimal(3), 3),
        (Decimal("123456789012345678901234567890"), 123456789012345678901234567890),
        (Path("/logs/a"), "/logs/a"),
        (PurePosixPath("b"), "b"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (dt.datetime(2026, 11, 29, 14, 9, tzinfo=dt.UTC), "2026-11-29T14:09:00+00:00"),
        (dt.date(2026, 11, 29), "2026-11-29"),
        (dt.timedelta(seconds=90), 90.0),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a"}), ["a", "b"]),
        (b"caf\xc3\xa9", "café"),
        (bytearray(b"x"), "x"),
        ((1, (2,)), [1, [2]]),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (Text("t"), "t"),
        (Scalar(2.5), 2.5),
        (MappingProxyType({"a": {1}}), {"a": [1]}),
        ({1: "a", None: "b", 0.5: "d"}, {"1": "a", "null": "b", "0.5": "d"}),
        ({Path("p"): 1, Colour.RED: 2}, {"p": 1, "red": 2}),
        (NetworkPolicy(allowed_hosts=("h",)).allowed_hosts, ["h"]),
    ],
)
def test_what_json_lacks_is_converted_by_rule(value: Any, written: Any) -> None:
    assert plain({"x": value}) == {"x": written}
    assert decode(encode(value), source="file") == written


class Disguised:
    """Of a type that nobody knows, as the proxies of other packages are."""

    @property
    def __class__(self) -> type:
        return dict

    def keys(self) -> list[str]:
        return ["a"]

    def __getitem__(self, key: str) -> int:
        return 1


def test_what_passes_itself_off_as_a_mapping_is_written_as_one() -> None:
    assert plain(Disguised()) == {"a": 1}


def test_odd_bytes_of_a_file_name_survive() -> None:
    text = decode(encode({"name": b"caf\xbc"}), source="file")["name"]

    assert text.encode("utf-8", "surrogateescape") == b"caf\xbc"


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (float("nan"), "not finite"),
        (float("-inf"), "not finite"),
        (Decimal("NaN"), "not finite"),
        (Scalar(float("inf")), "not finite"),
        (object(), "type object"),
        (len, "type builtin_function_or_method"),
        (Array(), "type Array"),
        ({("a", "b"): 1}, "cannot be the name of a field"),
        ({1: "a", "1": "b"}, "the same as text"),
        (1j, "type complex"),
    ],
)
def test_what_has_no_form_is_refused_with_its_place(value: Any, fault: str) -> None:
    with pytest.raises(NotPlain, match=rf"steps\.1\.metric.*: .*{fault}"):
        encode({"steps": [{}, {"metric": value}]})


def test_a_structure_that_holds_itself_is_refused_in_one_line() -> None:
    value: dict[str, Any] = {}
    value["again"] = [value]

    with pytest.raises(NotPlain, match="holds itself") as caught:
        encode({"trajectory": value})

    assert len(str(caught.value)) < 250
    assert isinstance(caught.value, StoreError)


def test_deep_but_finite_structures_are_written() -> None:
    value: Any = "leaf"
    for _ in range(150):
        value = [value]

    assert decode(encode(value), source="file") == value


@given(strategies.values)
def test_plain_values_come_back_as_they_were(value: Any) -> None:
    """Fails when orjson alone writes: it refuses surrogates and big integers."""
    assert decode(encode(value), source="file") == value


@given(strategies.objects)
def test_the_fallback_looks_like_the_fast_path(value: Mapping[str, Any]) -> None:
    """Fails when one of them sorts, indents or escapes otherwise."""
    ordinary = json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True)
    forced = dump({**value, "big": 2**70}, sort_keys=True)

    assert json.loads(dump(value, sort_keys=True)) == json.loads(ordinary)
    assert json.loads(forced) == {**value, "big": 2**70}


def test_text_is_kept_readable_and_ends_with_a_line_end() -> None:
    assert encode({"b": "é中\u2028", "a": []}) == '{\n  "b": "é中\u2028",\n  "a": []\n}\n'.encode()
    assert dump({"b": 2**70, "a": {}}) == b'{\n  "b": 1180591620717411303424,\n  "a": {}\n}\n'


@pytest.mark.parametrize("data", [b"", b"{", b"NaN", b'{"a": Infinity}', b"\xff", b"[" * 99999])
def test_what_is_not_json_is_refused_by_file(data: bytes) -> None:
    with pytest.raises(RecordCorrupt, match=r"^task\.json: not readable"):
        decode(data, source="task.json")
