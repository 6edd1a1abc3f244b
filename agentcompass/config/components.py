"""Components by id: their class, and an instance from checked parameters."""

import logging
from collections.abc import Mapping
from typing import Any

import attrs

from agentcompass.config import environment
from agentcompass.errors import ConfigInvalid, UsageError
from agentcompass.records.convert import structure_settings
from agentcompass.records.request import EnvironmentSpec
from agentcompass.registry import PLANNED, Kind, known, load

log = logging.getLogger(__name__)

NO_HARNESS = "none"  # the id that lets a benchmark run its own agent loop

# What the import of a foreign module may raise when the module itself is at fault.
_IMPORT_FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)


def component_class(kind: Kind, component_id: str) -> type[Any]:
    """The class of a component, imported now.

    Raises `UsageError`: an id that is not known, a package that is missing, or a module that
    cannot be imported, with the reason in one line.
    """
    try:
        return load(kind, component_id)
    except _IMPORT_FAULTS as error:
        log.debug("the import of %s %r failed", kind, component_id, exc_info=error)
        where = known(kind).get(component_id, component_id)
        reason = (str(error).splitlines() or [""])[0]
        raise UsageError(
            f"{kind} {component_id!r} ({where}) cannot be imported: "
            f"{type(error).__name__}: {reason}"
        ) from error


def build_component(kind: Kind, component_id: str, params: Mapping[str, Any], *, path: str) -> Any:
    """The component with its parameters; `ConfigInvalid` names each fault below `path`.

    An environment takes its own parameters only, not those common to all providers.
    """
    component = component_class(kind, component_id)
    return component(structure_settings(params, component.Config, path=path))


def params_faults(kind: Kind, component: type[Any], params: Mapping[str, Any]) -> list[str]:
    """Every fault of a component's parameters, each with its place: `.limit: expected ...`.

    Those of an environment hold what is common to all providers, too.
    """
    common, own = environment.split(params) if kind == "environment" else ({}, params)
    faults = _structure_faults(own, component.Config)
    if common:
        faults += _structure_faults({"id": "", **common}, EnvironmentSpec)
        faults += environment.common_faults(common)
    return faults


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
