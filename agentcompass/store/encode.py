"""How values become JSON text in a run directory, and back.

Two-space indent, non-ASCII kept, a line end at the end. What JSON has no form for is converted by
a stated rule (`plain`) or refused by name; nothing is dropped in silence.
"""

import datetime as dt
import enum
import json
import math
from collections.abc import Callable, Mapping, Set
from decimal import Decimal
from functools import lru_cache
from pathlib import PurePath
from typing import Any
from uuid import UUID

import attrs
import orjson

from agentcompass.errors import RecordCorrupt, StoreError
from agentcompass.store.read_back import read_back

# Deeper is a structure that holds itself, or one that a JSON reader of ours would refuse.
DEEPEST = 200
_LONGEST_PATH = 120  # characters of it in a message
_MOST_DIGITS = 4300  # what Python reads and writes in decimal
_MOST_BITS = int(_MOST_DIGITS * math.log2(10))
_PLAIN = frozenset({str, bool, type(None)})  # most of what a record holds needs no further look


class NotPlain(StoreError):
    """A value that has no form in JSON; the message says where it stands and what it is."""

    code = "record_unwritable"

    def __init__(self, fault: str, path: str = "") -> None:
        self.fault, self.path = fault, path
        place = path if len(path) <= _LONGEST_PATH else path[:_LONGEST_PATH] + "..."
        super().__init__(f"{place}: {fault}" if place else fault)

    def below(self, key: object) -> "NotPlain":
        """The same, seen from one level further up."""
        return NotPlain(self.fault, f"{key}.{self.path}" if self.path else str(key))


def plain(value: Any, *, depth: int = 0) -> Any:
    """`value` in mappings with text keys, lists, text, finite numbers, booleans and None.

    A record becomes the mapping of its fields; a path, a UUID and a date become their text (ISO
    8601); bytes become text as the file system's names do, so that odd bytes survive; a set
    becomes a sorted list; `Decimal` and numpy's scalars become plain numbers; an enumeration its
    value. Raises `NotPlain` for anything else, for numbers that are not finite or have too many
    digits to be read back, and for what holds itself. `depth` levels are to stand around it.
    """
    copy = read_back(value, (DEEPEST - depth) // 2)  # what is converted counts as two levels
    return _plain(value, depth) if copy is None else copy


def _plain(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is int:
        return _readable(value)
    if kind is float:
        return _finite(value)
    if depth > DEEPEST:
        raise NotPlain(f"nested more than {DEEPEST} levels deep, or holds itself")
    if kind is dict:
        return _mapping(value, depth)
    if kind is list:
        return _sequence(value, depth)
    return _plain(_convert(value), depth + 1)


def _mapping(value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    done = {}
    for key, item in value.items():
        try:
            name = key if type(key) is str else key_text(key)
            done[name] = item if type(item) in _PLAIN else _plain(item, depth + 1)
        except NotPlain as error:
            raise error.below(key) from None
    if len(done) < len(value):
        raise NotPlain(f"two of the names {list(value)!r:.80} are the same as text")
    return done


def _sequence(value: list[Any], depth: int) -> list[Any]:
    done = []
    for index, item in enumerate(value):
        try:
            done.append(_plain(item, depth + 1))
        except NotPlain as error:
            raise error.below(index) from None
    return done


def key_text(key: Any) -> str:
    """The name of a field; raises `NotPlain` where `key` can be none."""
    found = key if key is None or type(key) in (bool, int, float) else _convert(key)
    if type(found) is str:
        return found
    if found is None or isinstance(found, int | float):
        return json.dumps(found)
    raise NotPlain(f"{key!r} cannot be the name of a field")


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise NotPlain(f"the number {value} is not finite")
    return value


def _readable(value: int) -> int:
    if value.bit_length() > _MOST_BITS:
        raise NotPlain(f"a number of more than {_MOST_DIGITS} digits")
    return value


def container(value: Any) -> dict[Any, Any] | list[Any]:
    """The mapping or list, with items as they are, that a value is on its way to be plain."""
    while type(value) is not dict and type(value) is not list:
        value = _convert(value)
    return value


def _convert(value: Any) -> Any:
    found = _rule_of(type(value))  # type: ignore[arg-type]  # mypy: no class can be hashed
    if found is not None:
        return found(value)
    for kind, rule in _RULES:
        if isinstance(value, kind):  # what only passes itself off as one
            return rule(value)
    scalar = getattr(value, "item", None)
    if callable(scalar) and getattr(value, "shape", None) == ():
        return scalar()
    raise NotPlain(f"a value of type {type(value).__qualname__} cannot be written as JSON")


# Asked once of a type, since to ask of every value would take longer than all the rest.
@lru_cache(maxsize=1024)
def _rule_of(wanted: type[Any]) -> Callable[[Any], Any] | None:
    for kind, rule in _RULES:
        if issubclass(wanted, kind):
            return rule
    return _fields if attrs.has(wanted) else None


def _fields(record: Any) -> dict[str, Any]:
    return {
        field.name: value
        for field in attrs.fields(type(record))
        if (value := getattr(record, field.name)) is not None or "omit_none" not in field.metadata
    }


def _sorted(value: Set[Any]) -> list[Any]:
    return sorted((plain(item) for item in value), key=lambda item: (str(type(item)), str(item)))


def _from_decimal(value: Decimal) -> int | float:
    whole = value.is_finite() and value == value.to_integral_value()
    return int(value) if whole else float(value)


def _from_bytes(value: bytes | bytearray) -> str:
    return value.decode("utf-8", "surrogateescape")


_RULES: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (enum.Enum, lambda value: value.value),
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    (Mapping, dict),
    ((list, tuple), list),
    (Set, _sorted),
    ((bytes, bytearray), _from_bytes),
    ((PurePath, UUID), str),
    ((dt.date, dt.time), lambda value: value.isoformat()),
    (dt.timedelta, dt.timedelta.total_seconds),
    (Decimal, _from_decimal),
)


def dump(value: Any, *, sort_keys: bool = False, indent: bool = True) -> bytes:
    """The JSON text of a value that is `plain`, with a line end.

    A lone half of a surrogate pair, as models and file names bring them, is written as its escape
    and reads back equal; integers beyond 64 bits keep every digit.
    """
    options = orjson.OPT_APPEND_NEWLINE
    options |= orjson.OPT_INDENT_2 if indent else 0
    options |= orjson.OPT_SORT_KEYS if sort_keys else 0
    try:
        return orjson.dumps(value, option=options)
    except TypeError:  # the two cases above, which orjson refuses
        text = json.dumps(
            value,
            ensure_ascii=False,
            allow_nan=False,
            sort_keys=sort_keys,
            indent=2 if indent else None,
            separators=None if indent else (",", ":"),
        )
        return text.encode("utf-8", "backslashreplace") + b"\n"


def encode(value: Any, *, sort_keys: bool = False) -> bytes:
    """`value`, made plain, as the bytes of a file. Raises `NotPlain`."""
    return dump(plain(value), sort_keys=sort_keys)


def decode(data: bytes, *, source: str) -> Any:
    """What a file holds; `RecordCorrupt` naming `source` where that is not JSON."""
    try:
        # Not orjson: it turns integers beyond 64 bits into floats and refuses lone surrogates.
        return json.loads(data, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise RecordCorrupt(f"{source}: not readable as JSON: {error}") from error


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")
