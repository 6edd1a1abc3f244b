"""Components by id: their class, and an instance from checked parameters."""

from collections.abc import Mapping
from inspect import get_annotations
from typing import Any

import attrs

from agentcompass.config import environment
from agentcompass.errors import ConfigInvalid, PluginFailed
from agentcompass.plugin_edge import plugin_edge
from agentcompass.protocols import Analyzer, Benchmark, Environment, Harness, Recipe
from agentcompass.records.convert import structure_settings
from agentcompass.records.request import EnvironmentSpec
from agentcompass.registry import PLANNED, Kind, known, load, path_of

NO_HARNESS = "none"  # the id that lets a benchmark run its own agent loop

_SEAMS: Mapping[Kind, type[Any]] = {
    "benchmark": Benchmark,
    "harness": Harness,
    "environment": Environment,
    "recipe": Recipe,
    "analyzer": Analyzer,
}


def component_class(kind: Kind, component_id: str) -> type[Any]:
    """The class of a component, imported now.

    Raises `UsageError`: an id that is not known, a package that is missing, or a module that
    cannot be imported, with the reason in one line.
    """
    where = path_of(kind, component_id) or component_id
    with plugin_edge(f"{kind} {component_id!r} ({where}) cannot be imported"):
        return load(kind, component_id)


def build_component(kind: Kind, component_id: str, params: Mapping[str, Any], *, path: str) -> Any:
    """The component with its parameters; `ConfigInvalid` names each fault below `path`.

    An environment takes its own parameters only, not those common to all providers.
    """
    component = component_class(kind, component_id)
    return make(
        kind, component_id, component, structure_settings(params, component.Config, path=path)
    )


def make(kind: Kind, component_id: str, component: type[Any], settings: Any) -> Any:
    """An instance of `component`; `PluginFailed` where it cannot be built, or lacks a member."""
    name = f"{kind} {component_id!r}"
    with plugin_edge(f"{name}: __init__"):
        built = component(settings)
    if missing := [member for member in members(_SEAMS[kind]) if not hasattr(built, member)]:
        raise PluginFailed(f"{name} lacks {', '.join(missing)}; see agentcompass.protocols")
    return built


def members(seam: type[Any]) -> list[str]:
    """The names of all that a protocol asks for."""
    found = {name for base in seam.__mro__ for name in {**vars(base), **get_annotations(base)}}
    return sorted(name for name in found if not name.startswith("_"))


def params_faults(kind: Kind, component: type[Any], params: Mapping[str, Any]) -> list[str]:
    """Every fault of a component's parameters, each with its place: `.limit: expected ...`.

    Those of an environment hold what is common to all providers, too.
    """
    common, own = environment.split(params) if kind == "environment" else ({}, params)
    faults = _structure_faults(own, component.Config)
    if kind == "environment":
        faults = [_naming_common(fault) for fault in faults]
    if common:
        faults += _structure_faults({"id": "", **common}, EnvironmentSpec)
        faults += environment.common_faults(common)
    return faults


def _naming_common(fault: str) -> str:
    of_all = f"; of every environment: {', '.join(environment.COMMON)}"
    return f"{fault}{of_all}" if ": unknown key " in fault else fault


def is_planned_or_known(kind: Kind, component_id: str) -> bool:
    """Whether a configuration file may speak of this id."""
    no_harness = kind == "harness" and component_id == NO_HARNESS
    planned = component_id in PLANNED.get(kind, frozenset())
    return no_harness or planned or component_id in known(kind)


def defaults(kind: type[Any]) -> dict[str, Any]:
    """The default of each field of an attrs class that has one."""
    return {
        field.name: _default(field)
        for field in attrs.fields(kind)
        if field.default is not attrs.NOTHING
    }


def _default(field: "attrs.Attribute[Any]") -> Any:
    factory = field.default
    if not isinstance(factory, attrs.Factory):  # type: ignore[arg-type]
        return factory
    return None if factory.takes_self else factory.factory()  # type: ignore[union-attr]


def _structure_faults(value: Any, kind: type[Any]) -> list[str]:
    try:
        structure_settings(value, kind, path="")
    except ConfigInvalid as error:
        return list(error.faults)
    return []
