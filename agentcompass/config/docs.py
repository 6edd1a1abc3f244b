"""What `config docs` prints: the parameters of a component, from the fields that check them."""

import inspect
import json
import types
from collections.abc import Iterator, Mapping
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import attrs

from agentcompass.config.common_help import MEANINGS, UNITS
from agentcompass.config.components import component_class
from agentcompass.config.environment import COMMON
from agentcompass.config.section_help import SECTION_MEANINGS
from agentcompass.records.convert import unstructure
from agentcompass.records.request import EnvironmentSpec, ModelSpec
from agentcompass.registry import Kind

_NAMES: Mapping[Any, str] = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "true or false",
    type(None): "null",
    Any: "any",
}


@attrs.frozen(kw_only=True)
class Row:
    """One parameter; `default` is JSON, or `required`."""

    field: str
    type: str
    default: str
    unit: str
    meaning: str


@attrs.frozen(kw_only=True)
class ComponentDocs:
    """A component as its users see it."""

    title: str
    description: str
    details: str
    rows: tuple[Row, ...]


def component_docs(kind: Kind, component_id: str) -> ComponentDocs:
    """The documentation of one component; `UsageError` where it cannot be had."""
    component = component_class(kind, component_id)
    return ComponentDocs(
        title=f"{kind} {component_id} ({component.__module__}:{component.__qualname__})",
        description=component.description,
        details=inspect.cleandoc(component.__doc__ or ""),
        rows=tuple(_rows(kind, component)),
    )


def _rows(kind: Kind, component: type[Any]) -> Iterator[Row]:
    if kind == "model":
        fields = [field for field in attrs.fields(ModelSpec) if field.name != "id"]
        yield from _field_rows(ModelSpec, fields, "")
        if (params := getattr(component, "Params", None)) is not None:
            yield from _field_rows(params, attrs.fields(params), "params.")
        return
    yield from _field_rows(component.Config, attrs.fields(component.Config), "")
    if kind == "environment":
        common = [field for field in attrs.fields(EnvironmentSpec) if field.name in COMMON]
        yield from _field_rows(EnvironmentSpec, common, "")


def _field_rows(owner: type[Any], fields: Any, prefix: str) -> Iterator[Row]:
    """A row for each field, followed by those of the object in it, with dotted names."""
    hints = get_type_hints(owner)
    for field in fields:
        kind = hints[field.name]
        yield Row(
            field=prefix + field.name,
            type=type_text(kind),
            default=_default_text(field),
            unit=unit_of(field),
            meaning=meaning_of(owner, field),
        )
        for member in members_of(kind):
            if attrs.has(member):
                yield from _field_rows(member, attrs.fields(member), f"{prefix}{field.name}.")


def unit_of(field: "attrs.Attribute[Any]") -> str:
    """The unit of a parameter; empty where there is none to tell."""
    return str(field.metadata.get("unit") or UNITS.get(field.name, ""))


def meaning_of(owner: type[Any], field: "attrs.Attribute[Any]") -> str:
    """What a parameter means, from its field or from the tables of those that layers share."""
    said = field.metadata.get("help") or MEANINGS.get((owner, field.name))
    return str(said or SECTION_MEANINGS.get((owner, field.name), ""))


def type_text(kind: Any) -> str:
    """A type as people say it: `text or null`, `list of text`, `object of number`."""
    if kind in _NAMES:
        return _NAMES[kind]
    origin, args = get_origin(kind), get_args(kind)
    if origin is Literal:
        return " or ".join(json.dumps(value) for value in args)
    if origin in (Union, types.UnionType):
        return " or ".join(type_text(member) for member in args)
    if origin in (tuple, list):
        return f"list of {type_text(args[0])}"
    if isinstance(origin, type) and issubclass(origin, Mapping) and args[1] is not Any:
        return f"object of {type_text(args[1])}"
    return "object"


def members_of(kind: Any) -> tuple[Any, ...]:
    """The members of a union, or the type itself."""
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _default_text(field: "attrs.Attribute[Any]") -> str:
    default = field.default
    if default is attrs.NOTHING:
        return "required"
    if isinstance(default, attrs.Factory):  # type: ignore[arg-type]
        default = None if default.takes_self else default.factory()  # type: ignore[union-attr]
    if attrs.has(type(default)):
        return ""
    return json.dumps(unstructure(default), ensure_ascii=False)
