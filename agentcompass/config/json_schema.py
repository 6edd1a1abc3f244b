"""The configuration and orchestration files as JSON Schema, from the fields that check them."""

from collections.abc import Iterator, Mapping
from typing import Literal

import attrs

from agentcompass.config.components import NO_HARNESS, component_class
from agentcompass.config.environment import ALIASES, COMMON
from agentcompass.config.keywords import COMPONENTS
from agentcompass.config.outline import OF_A_REQUEST, OF_THE_PROCESS, SECTIONS
from agentcompass.config.schema_types import REFERENCE, Schema, Types, closed, or_null
from agentcompass.config.sections import ModelSection, OutputSection, RuntimeSection
from agentcompass.errors import UsageError
from agentcompass.records.orchestration import OrchestrationSpec
from agentcompass.records.request import EnvironmentSpec, ExecutionOptions
from agentcompass.registry import PLANNED, Kind, known

Form = Literal["yaml", "json"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"

# Unquoted, YAML takes `0644`, `1.10` or `true` for something else; a field that wants text keeps
# them as they are written.
_TEXT: Mapping[Form, Schema] = {
    "yaml": {"type": ["string", "number", "boolean"]},
    "json": {"type": "string"},
}
_GRACE = "cleanup_grace_seconds"


def configuration_schema(form: Form) -> Schema:
    """The schema of a configuration file in YAML or JSON."""
    types = Types(text=_TEXT[form])
    runtime = types.fields(RuntimeSection) | types.fields(ExecutionOptions, (_GRACE,))
    sections = {
        **{section: _by_id(kind, types) for kind, section in COMPONENTS.items()},
        "execution": or_null(types.object(ExecutionOptions)),
        "runtime": or_null(closed(runtime)),
    }
    return _document("AgentCompass configuration", or_null(closed(sections)))


def orchestration_schema(form: Form) -> Schema:
    """The schema of a file for `launch`."""
    types = Types(text=_TEXT[form])
    shared = {name: or_null(schema) for name, schema in _sections(types).items()}
    sections = {name: {"$ref": f"#/$defs/{name}"} for name in shared}
    name = {**types.text, "pattern": r"\S", "description": "Unique among the requests."}
    request = {**closed({**sections, "name": name}), "required": ["name"]}
    process = types.fields(RuntimeSection, (n for n in OF_THE_PROCESS if n != _GRACE))
    parts: dict[str, Schema] = {
        "requests": {"type": "array", "minItems": 1, "items": request},
        "version": {"const": 1},
        "name": dict(types.text),
        "task_concurrency": _slots(types),
        "runtime": or_null(closed(process | types.fields(ExecutionOptions, (_GRACE,)))),
        "defaults": or_null(closed(sections)),
    }
    top = closed({field.name: parts[field.name] for field in attrs.fields(OrchestrationSpec)})
    return _document("AgentCompass orchestration", {**top, "required": ["requests"]}, shared)


def _document(title: str, schema: Schema, shared: Mapping[str, Schema] | None = None) -> Schema:
    definitions = {"reference": REFERENCE, **(shared or {})}
    return {"$schema": DIALECT, "title": title, **schema, "$defs": definitions}


def _slots(types: Types) -> Schema:
    [(_, schema)] = types.fields(ExecutionOptions, ("task_concurrency",)).items()
    return {"anyOf": [schema, {"type": "null"}]}


def _sections(types: Types) -> dict[str, Schema]:
    """What a request, and the defaults of all of them, may say."""
    execution = types.fields(ExecutionOptions)
    del execution["task_concurrency"]
    schemas: dict[str, Schema] = {
        **{kind: _chosen(kind, types) for kind in COMPONENTS},
        "model": closed(types.fields(ModelSection)),
        "execution": closed(execution),
        "runtime": closed(types.fields(RuntimeSection, OF_A_REQUEST)),
        "output": closed(types.fields(OutputSection)),
    }
    return {name: schemas[name] for name in SECTIONS}


def _by_id(kind: Kind, types: Types) -> Schema:
    """A section with the parameters of components below their ids."""
    ids = {name: or_null(closed(params)) for name, params in _components(kind, types)}
    open_ids = {name: {"type": ["object", "null"]} for name in _unchecked(kind) - ids.keys()}
    return or_null(closed(ids | open_ids))


def _chosen(kind: Kind, types: Types) -> Schema:
    """A component by its id, the parameters beside it; without an id it is the defaults' one."""
    found = dict(_components(kind, types))
    if kind == "harness":
        found[NO_HARNESS] = {}
    ids = sorted({*known(kind), *found})
    rules = [
        {
            "if": {"type": "object", "properties": {"id": {"const": name}}, "required": ["id"]},
            "then": closed({"id": True, **params}),
        }
        for name, params in found.items()
    ]
    properties = {"id": {"anyOf": [{"enum": [*ids, None]}, REFERENCE]}, "params": False}
    return {"type": "object", "properties": properties, "allOf": rules}


def _components(kind: Kind, types: Types) -> Iterator[tuple[str, Mapping[str, Schema]]]:
    """The parameters of every component that can be imported here, by its id."""
    partly = attrs.evolve(types, is_whole=False)
    for name in known(kind):
        try:
            component = component_class(kind, name)
        except UsageError:
            continue
        params = partly.fields(component.Config)
        yield name, params | (_common(partly) if kind == "environment" else {})


def _unchecked(kind: Kind) -> set[str]:
    """The ids that a file may speak of although nobody can say what they take."""
    return {*known(kind), *PLANNED.get(kind, ()), *([NO_HARNESS] if kind == "harness" else [])}


def _common(types: Types) -> dict[str, Schema]:
    """What every environment takes, with the spellings that are read as well."""
    fields = attrs.evolve(types, numbers={"minimum": 0}).fields(EnvironmentSpec, COMMON)
    return fields | {alias: _below(fields, path) for alias, path in ALIASES.items()}


def _below(fields: Mapping[str, Schema], path: tuple[str, ...]) -> Schema:
    """The schema at a path through objects that may be null."""
    name, *rest = path
    if not rest:
        return fields[name]
    inner = next(each for each in fields[name]["anyOf"] if "properties" in each)
    return _below(inner["properties"], tuple(rest))
