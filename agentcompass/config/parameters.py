"""The parameters of components, chosen or only configured, with their final types."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from agentcompass.config import environment
from agentcompass.config.components import (
    NO_HARNESS,
    component_class,
    is_planned_or_known,
    params_faults,
)
from agentcompass.config.gather import Gathered
from agentcompass.config.keywords import COMPONENTS
from agentcompass.config.scalars import settle
from agentcompass.config.settings import located
from agentcompass.errors import UsageError
from agentcompass.records.request import EnvironmentSpec
from agentcompass.registry import Kind, known

log = logging.getLogger(__name__)

Params = Mapping[Kind, Mapping[str, Any]]


def component_params(
    found: Gathered, ids: Mapping[Kind, str], spell: Callable[[str], str]
) -> Params:
    """The parameters of each of `ids`; faults, also of components not chosen, go to `found`."""
    for kind, section in COMPONENTS.items():
        for other in sorted(set(found.at(section) or ()) - {ids.get(kind)}):
            found.faults.extend(_other_faults(found, kind, other))
    return {kind: _chosen(found, kind, ids[kind], spell) for kind in ids}


def settled_params(kind: Kind, component: type[Any], params: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of `params` whose unquoted scalars have the types that the component's fields want."""
    common, own = environment.split(params) if kind == "environment" else ({}, params)
    return {**settle(own, component.Config), **settle(common, EnvironmentSpec)}


def _chosen(
    found: Gathered, kind: Kind, component_id: str, spell: Callable[[str], str]
) -> dict[str, Any]:
    path = (COMPONENTS[kind], component_id)
    params = dict(found.at(*path) or {})
    if kind == "harness" and component_id == NO_HARNESS:
        faults = [f"{found.origin(*path, name)}: harness 'none' takes none" for name in params]
        found.faults.extend(faults)
        return {}
    if kind == "benchmark":
        _refuse_attempts(found, path, params, spell("k"))
    try:
        component = component_class(kind, component_id)
    except UsageError as error:
        found.faults.append(str(error))
        return {}
    params = settled_params(kind, component, params)
    label = found.label(path, spell(f"{kind}_params"))
    faults = params_faults(kind, component, params)
    found.faults.extend(located(fault, found.settings, path, label) for fault in faults)
    return params


def _refuse_attempts(
    found: Gathered, path: tuple[str, ...], params: dict[str, Any], option: str
) -> None:
    for name in ("k", "avgk"):
        if name in params:
            del params[name]
            found.faults.append(
                f"{found.origin(*path, name)}: the number of attempts is set by {option}"
            )


def _other_faults(found: Gathered, kind: Kind, component_id: str) -> list[str]:
    """The faults of a component that a file configures and this run does not use.

    One that cannot be imported here, or that a later version brings, is left alone.
    """
    path = (COMPONENTS[kind], component_id)
    label = found.label(path, kind)
    if not is_planned_or_known(kind, component_id):
        names = ", ".join(known(kind))
        return [f"{label}: {kind} {component_id!r} is not known; known: {names}"]
    try:
        component = component_class(kind, component_id)
    except UsageError as error:
        log.debug("%s is not checked: %s", label, error)
        return []
    params = settled_params(kind, component, found.at(*path) or {})
    return [
        located(fault, found.settings, path, label)
        for fault in params_faults(kind, component, params)
        if not fault.endswith(" is required")
    ]
