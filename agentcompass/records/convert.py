"""The one cattrs converter: strict types; unknown keys refused in settings, ignored in records.

Measured with cattrs 26.2: by default `"false"` becomes True, 2.9 becomes 2 and null becomes "None".
Here a value has its type or is refused with its path; an int is welcome where a float is wanted.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from types import NoneType, UnionType
from typing import Any, TypeVar, cast, get_args, get_origin

import attrs
from cattrs import BaseValidationError, Converter, transform_error
from cattrs.errors import (
    ForbiddenExtraKeysError,
    IterableValidationError,
    IterableValidationNote,
)
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from agentcompass.errors import ConfigInvalid, RecordCorrupt

T = TypeVar("T")


def _exactly(wanted: type[Any], name: str) -> Callable[[Any, Any], Any]:
    def structure(value: Any, _type: Any) -> Any:
        if type(value) is not wanted:
            raise TypeError(f"expected {name}, got {_show(value)}")
        return value

    return structure


def _float(value: Any, _type: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"expected a number, got {_show(value)}")
    if not math.isfinite(value):
        raise ValueError(f"expected a finite number, got {value}")
    return float(value)


_SOUND = frozenset({str, bool, int, type(None)})  # most of a record: no need to ask what it is


def finite(value: Any) -> Any:
    """`value` itself; `ValueError` where it holds a number that JSON cannot carry."""
    if type(value) in _SOUND:
        return value
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"expected a finite number, got {value}")
    if isinstance(value, Mapping):
        for item in value.values():
            finite(item)
    elif isinstance(value, list | tuple):
        for item in value:
            finite(item)
    return value


def _any(value: Any, _type: Any) -> Any:
    return finite(value)


def _mapping(converter: Converter) -> Callable[[Any, Any], Any]:
    def structure(value: Any, kind: Any) -> Any:
        if not isinstance(value, Mapping):
            raise TypeError(f"expected an object, got {_show(value)}")
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"expected text as key, got {_show(key)}")
        item = (get_args(kind) or (str, Any))[1]
        return dict(_each(converter, value.items(), item))

    return structure


def _tuple(converter: Converter) -> Callable[[Any, Any], Any]:
    def structure(value: Any, kind: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise TypeError(f"expected a list, got {_show(value)}")
        item = get_args(kind)[0]
        return tuple(entry for _, entry in _each(converter, enumerate(value), item))

    return structure


def _each(converter: Converter, entries: Iterable[tuple[Any, Any]], item: Any) -> list[Any]:
    """Every entry structured as `item`, with its key or index; all that fail are named."""
    done, failed = [], []
    for key, entry in entries:
        try:
            done.append((key, converter.structure(entry, item)))
        except (BaseValidationError, TypeError, ValueError) as error:
            error.__notes__ = [IterableValidationNote("", key, item)]
            failed.append(error)
    if failed:
        raise IterableValidationError("", failed, item)
    return done


def _show(value: Any) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 40 else text[:37] + '...'}"


def _is_open_tuple(kind: Any) -> bool:
    return get_origin(kind) is tuple and get_args(kind)[1:] == (...,)


def _is_mapping(kind: Any) -> bool:
    origin = get_origin(kind) or kind
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _is_choice(kind: Any) -> bool:
    return get_origin(kind) is UnionType and NoneType not in get_args(kind)


def _choice(converter: Converter) -> Callable[[Any, Any], Any]:
    """Take the first kind of a union that fits: `bool | float`, a name or a list of names."""

    def structure(value: Any, kind: Any) -> Any:
        errors = []
        for wanted in get_args(kind):
            try:
                return converter.structure(value, wanted)
            except (BaseValidationError, TypeError, ValueError) as error:
                errors.append(error)
        raise errors[-1]

    return structure


def _object(converter: Converter, kind: type[Any], *, forbid: bool) -> Callable[[Any, Any], Any]:
    structure = make_dict_structure_fn(kind, converter, _cattrs_forbid_extra_keys=forbid)

    def checked(value: Any, wanted: Any) -> Any:
        if not isinstance(value, Mapping):
            raise TypeError(f"expected an object, got {_show(value)}")
        return structure(cast("Mapping[str, Any]", value), wanted)

    return checked


def _plain(converter: Converter, kind: type[Any]) -> Callable[[Any], dict[str, Any]]:
    """Write every field, but for those with `omit_none` in their metadata that are None."""
    absent = override(omit_if_default=True)
    omit = {field.name: absent for field in attrs.fields(kind) if "omit_none" in field.metadata}
    return make_dict_unstructure_fn(kind, converter, **omit)  # type: ignore[arg-type]


def _make(*, forbid: bool) -> Converter:
    converter = Converter(detailed_validation=True, omit_if_default=False)
    for wanted, name in ((str, "text"), (int, "an integer"), (bool, "true or false")):
        converter.register_structure_hook(wanted, _exactly(wanted, name))
    converter.register_structure_hook(float, _float)
    converter.register_structure_hook_func(lambda kind: kind is Any, _any)
    converter.register_structure_hook_func(_is_mapping, _mapping(converter))
    converter.register_structure_hook_func(_is_open_tuple, _tuple(converter))
    converter.register_structure_hook_func(_is_choice, _choice(converter))
    converter.register_structure_hook_factory(
        attrs.has, lambda kind: _object(converter, kind, forbid=forbid)
    )
    converter.register_unstructure_hook_factory(attrs.has, lambda kind: _plain(converter, kind))
    return converter


_settings = _make(forbid=True)
_records = _make(forbid=False)


def _format(error: BaseException, _type: Any) -> str:
    if isinstance(error, ForbiddenExtraKeysError):
        names = ", ".join(sorted(error.extra_fields))
        known = ", ".join(field.name for field in attrs.fields(error.cl))
        return f"unknown key {names}; known: {known or 'none'}"
    if isinstance(error, KeyError):
        return f"{error.args[0]} is required"
    return re.sub(
        r"^(.*) not in literal typing\.Literal\[(.*)\]$", r"\1 is not one of \2", str(error)
    )


def faults(error: BaseException, path: str) -> list[str]:
    """Every fault of a structuring error as `path.to.field: what is wrong`."""
    if not isinstance(error, BaseValidationError):
        return [f"{path}: {_format(error, None)}"]
    lines = transform_error(error, path=path, format_exception=_format)
    return [f"{where}: {what}" for what, _, where in (line.rpartition(" @ ") for line in lines)]


def structure_settings(value: Any, kind: type[T], *, path: str) -> T:
    """Settings as `kind`; `ConfigInvalid` with every fault, unknown keys included."""
    try:
        return _settings.structure(value, kind)
    except (BaseValidationError, TypeError, ValueError) as error:
        raise ConfigInvalid(faults(error, path)) from error


def structure_record(value: Any, kind: type[T], *, source: str) -> T:
    """A record as `kind`, unknown keys ignored; `RecordCorrupt` naming `source` and the fields."""
    try:
        return _records.structure(value, kind)
    except (BaseValidationError, TypeError, ValueError, KeyError) as error:
        raise RecordCorrupt("; ".join(faults(error, source))) from error


def unstructure(value: Any) -> Any:
    """A record as plain mappings, lists and scalars, ready for JSON."""
    return _records.unstructure(value)
