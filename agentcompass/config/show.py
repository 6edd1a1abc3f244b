"""What `config show` prints: the effective configuration."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from agentcompass.config.components import NO_HARNESS, component_class, defaults
from agentcompass.config.gather import Gathered, gather
from agentcompass.config.keywords import COMPONENTS
from agentcompass.config.origins import origins
from agentcompass.config.parameters import component_params, settled_params
from agentcompass.config.scalars import settle
from agentcompass.config.sections import RuntimeSection, all_limits, all_paces
from agentcompass.errors import UsageError
from agentcompass.records.convert import structure_settings, unstructure
from agentcompass.records.request import ExecutionOptions
from agentcompass.registry import PLANNED, Kind


@attrs.frozen(kw_only=True)
class Shown:
    """The configuration as it holds, and the secret values that must be masked in it.

    `origins` has the `Origin` of each value that a file has set, in the value's place.
    """

    tree: Mapping[str, Any]
    origins: Mapping[str, Any]
    secrets: frozenset[str]


def effective_configuration(
    config_path: Sequence[str],
    ids: Mapping[Kind, Sequence[str]],
    *,
    cwd: Path,
    environ: Mapping[str, str],
) -> Shown:
    """Sections `runtime` and `execution` in full, and the parameters of components.

    Of a kind that `ids` names, these components, with their defaults; of any other kind, those
    that a file configures. Raises `UsageError` for what a run would refuse.
    """
    found = gather({"config_path": config_path}, {}, cwd=cwd, environ=environ, spell=str)
    component_params(found, {}, str)
    sections = {
        section: _components(found, kind, ids.get(kind) or sorted(found.at(section) or ()))
        for kind, section in COMPONENTS.items()
    }
    found.check()
    shown = {"runtime": _runtime(found), "execution": _execution(found)}
    shown |= {section: content for section, content in sections.items() if content}
    return Shown(tree=shown, origins=origins(found.settings), secrets=found.secrets())


def _runtime(found: Gathered) -> dict[str, Any]:
    runtime = structure_settings(found.at("runtime") or {}, RuntimeSection, path="runtime")
    limits = {"provider_limits": all_limits(runtime), "env_open_qps": all_paces(runtime)}
    return {**unstructure(runtime), **limits}


def _execution(found: Gathered) -> Any:
    execution = found.at("execution") or {}
    return unstructure(structure_settings(execution, ExecutionOptions, path="execution"))


def _components(found: Gathered, kind: Kind, ids: Sequence[str]) -> dict[str, Any]:
    return {component_id: _component(found, kind, component_id) for component_id in ids}


def _component(found: Gathered, kind: Kind, component_id: str) -> Any:
    path = (COMPONENTS[kind], component_id)
    params = found.at(*path) or {}
    try:
        component = component_class(kind, component_id)
    except UsageError as error:
        told = any(fault.endswith(str(error)) for fault in found.faults)
        if not told and component_id not in {*PLANNED.get(kind, ()), NO_HARNESS}:
            found.faults.append(str(error))
        return settle(params, Any)
    params = settled_params(kind, component, params)
    return {**unstructure(defaults(component.Config)), **params}
