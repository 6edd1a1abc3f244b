"""Types and validators of attrs fields as JSON Schema (2020-12), as far as it can say them.

Whatever the settings' own checks let pass, the schema lets pass, too; it refuses unknown keys,
wrong types and numbers out of bounds, and cannot say what depends on other fields or on the world.
"""

import operator
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, Literal, get_args, get_origin, get_type_hints

import attrs

from agentcompass.config.components import defaults
from agentcompass.config.docs import meaning_of, members_of, unit_of
from agentcompass.records.convert import unstructure
from agentcompass.records.task import ArtifactSpec, CollectCommand
from agentcompass.records.validators import RULE

Schema = dict[str, Any]

# A whole value that is read from the environment; it may come to be of any scalar type.
REFERENCE = {"type": "string", "pattern": r"^\$\{[A-Za-z_][A-Za-z0-9_]*\}$"}
_OR_REFERENCE = {"$ref": "#/$defs/reference"}

_SCALARS: Mapping[Any, Schema] = {
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
}
_BOUNDS = {
    ">=": "minimum",
    ">": "exclusiveMinimum",
    "<=": "maximum",
    "<": "exclusiveMaximum",
}
# Lists of these may hold texts: a path, a command.
_SHORT = (ArtifactSpec, CollectCommand)


@attrs.frozen(kw_only=True)
class Types:
    """How types are said in one document.

    `text` is what may stand for text; `numbers` holds for every number; `is_whole` tells that
    required fields have to be there, since no other file can give them.
    """

    text: Mapping[str, Any] = attrs.field(factory=lambda: {"type": "string"})
    numbers: Mapping[str, Any] = attrs.field(factory=dict)
    is_whole: bool = True

    def of(self, kind: Any) -> Schema:
        """One type."""
        members = members_of(kind)
        if len(members) > 1:
            return {"anyOf": [self.of(member) for member in members]}
        if kind is type(None):
            return {"type": "null"}
        if kind is str:
            return dict(self.text)
        if kind in _SCALARS:
            return {"anyOf": [{**_SCALARS[kind], **self.numbers}, _OR_REFERENCE]}
        return self._of_many(kind)

    def _of_many(self, kind: Any) -> Schema:
        origin, args = get_origin(kind) or kind, get_args(kind)
        if origin is Literal:
            return {"anyOf": [{"enum": list(args)}, _OR_REFERENCE]}
        if attrs.has(origin):
            return self.object(origin)
        if origin in (tuple, list):
            return {"type": "array", "items": self._item(args[0])}
        if isinstance(origin, type) and issubclass(origin, Mapping):
            names, values = args or (str, Any)
            named = {} if names is str else {"propertyNames": {"enum": list(get_args(names))}}
            return {"type": "object", "additionalProperties": self.of(values), **named}
        return {}

    def _item(self, kind: Any) -> Schema:
        """An item of a list; lists are replaced, so that no other file completes it."""
        whole = attrs.evolve(self, is_whole=True).of(kind)
        return {"anyOf": [dict(self.text), whole]} if kind in _SHORT else whole

    def object(self, owner: type[Any]) -> Schema:
        """An attrs class: its fields and no others."""
        fields: Sequence[attrs.Attribute[Any]] = attrs.fields(owner)
        required = [field.name for field in fields if field.default is attrs.NOTHING]
        more = {"required": required} if required and self.is_whole else {}
        return {**closed(self.fields(owner)), **more}

    def fields(self, owner: type[Any], names: Iterable[str] | None = None) -> dict[str, Schema]:
        """The fields of an attrs class, all or those of `names`."""
        fields = attrs.fields_dict(owner)
        chosen = fields if names is None else names
        return {name: self.field(owner, fields[name]) for name in chosen}

    def field(self, owner: type[Any], field: "attrs.Attribute[Any]") -> Schema:
        """One field: its type, what its validator says, its meaning and its default."""
        schema = {**self.of(get_type_hints(owner)[field.name]), **rule_of(field.validator)}
        unit = unit_of(field)
        text = meaning_of(owner, field)
        if text:
            schema["description"] = f"{text} Unit: {unit}." if unit else text
        if field.name in (given := defaults(owner)):
            schema["default"] = unstructure(given[field.name])
        return schema


def closed(properties: Mapping[str, Any]) -> Schema:
    """An object of these keys and no others."""
    return {"type": "object", "properties": dict(properties), "additionalProperties": False}


def or_null(schema: Schema) -> Schema:
    """An object, or null for nothing said."""
    return {**schema, "type": [schema["type"], "null"]}


def rule_of(validator: Any) -> Schema:
    """The keywords that a validator can be said with; empty for one that has none."""
    inner = getattr(validator, "_validators", None)
    if inner is not None:
        return reduce(operator.or_, map(rule_of, inner), {})
    bound = _BOUNDS.get(getattr(validator, "compare_op", ""))
    if bound is not None:
        return {bound: validator.bound}
    optional = getattr(validator, "validator", None)
    return rule_of(optional) if optional is not None else dict(getattr(validator, RULE, {}))
