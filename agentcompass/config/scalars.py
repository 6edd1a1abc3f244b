"""Unquoted YAML scalars stay text until the field that takes them says what it wants."""

import os
import re
import types
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import attrs

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEAN = {
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


@attrs.frozen
class Plain:
    """A scalar as it was written, without quotes.

    Its meaning follows YAML 1.2 where that is beyond doubt: `0644`, `NO`, `1_000` and dates are
    text, since YAML 1.1 and 1.2 read them differently and people mean them as they stand.
    """

    text: str
    reference: bool = False  # from the environment: text wherever any type will do

    @property
    def value(self) -> Any:
        """Null, a boolean, a number, or the text itself."""
        if self.text in _NULL:
            return None
        if self.text in _BOOLEAN:
            return _BOOLEAN[self.text]
        if _INTEGER.fullmatch(self.text):
            return int(self.text) if len(self.text) < 1000 else self.text
        if _FLOAT.fullmatch(self.text):
            return float(self.text)
        if _NOT_FINITE.fullmatch(self.text):
            return float(self.text.replace(".", "").lower())
        return self.text


def settle(value: Any, kind: Any) -> Any:
    """A fresh copy of `value` with each `Plain` read as `kind` wants it; nothing is checked."""
    if isinstance(value, Plain):
        as_text = _is_text(kind, value.value) or (value.reference and kind is Any)
        return value.text if as_text else value.value
    if isinstance(value, Mapping):
        return {key: settle(item, _entry(kind, key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [settle(item, _item(kind)) for item in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _members(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _is_text(kind: Any, value: Any) -> bool:
    members = _members(kind)
    if value is None or type(value) in members:
        return False
    return any(member is str or get_origin(member) is Literal for member in members)


def _entry(kind: Any, key: str) -> Any:
    for member in _members(kind):
        if attrs.has(member):
            return _hints(get_origin(member) or member).get(key, Any)
        if isinstance(get_origin(member), type) and issubclass(get_origin(member), Mapping):
            return get_args(member)[1]
    return Any


def _item(kind: Any) -> Any:
    for member in _members(kind):
        if get_origin(member) in (tuple, list) and get_args(member):
            return get_args(member)[0]
    return Any


@cache
def _hints(kind: type[Any]) -> Mapping[str, Any]:
    return get_type_hints(kind)
