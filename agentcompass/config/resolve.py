"""Every source of settings becomes one request and the options of its process."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import attrs

from agentcompass.config import environment
from agentcompass.config.gather import Gathered, gather
from agentcompass.config.keywords import (
    COMPONENTS,
    KEYWORDS,
    OF_THE_PROCESS,
    config_paths,
    unwritable_faults,
)
from agentcompass.config.model import model_spec
from agentcompass.config.parameters import Params, component_params
from agentcompass.config.sections import OutputSection, RuntimeSection
from agentcompass.errors import ConfigInvalid
from agentcompass.records.convert import structure_settings
from agentcompass.records.request import (
    ComponentSpec,
    EnvironmentSpec,
    ExecutionOptions,
    ModelSpec,
    OutputOptions,
    ProcessOptions,
    ReuseOptions,
    RunRequest,
)
from agentcompass.registry import Kind

T = TypeVar("T")

Ids = Mapping[Kind, str]

DEFAULT_ENVIRONMENT = "host_process"


@attrs.frozen(kw_only=True)
class Parts:
    """What of a request is settled component by component."""

    params: Params
    model: ModelSpec


@attrs.frozen(kw_only=True)
class Resolved:
    """What is to be measured, and how the process behaves meanwhile."""

    request: RunRequest
    options: ProcessOptions


def resolve_run(
    values: Mapping[str, Any],
    *,
    cwd: Path,
    environ: Mapping[str, str],
    spell: Callable[[str], str] = str,
) -> Resolved:
    """Settle one request from the keyword arguments of `run_evaluation`; None is not given.

    Later sources win: built-in defaults, the user's file, the project's, each of `config_path`,
    `execution_params`, the other keywords. `spell` tells how the caller writes a keyword, for
    messages. `values` are not changed. Raises `ConfigInvalid` with every fault at once.
    """
    if unwritable := list(unwritable_faults(values, spell)):
        raise ConfigInvalid(unwritable)  # what holds itself could not even be merged
    faults: list[str] = []
    ids = _ids(values, spell, faults)
    found = gather(values, ids, cwd=cwd, environ=environ, spell=spell)
    found.faults.extend(faults)
    parts = request_parts(found, ids, spell)
    found.check()
    paths = config_paths(values)
    metadata = {"config_path": paths} if paths else {}
    request = run_request(found, ids, parts, metadata=metadata)
    return Resolved(request=request, options=process_options(found))


def new_request(values: Mapping[str, Any], *, cwd: Path, environ: Mapping[str, str]) -> RunRequest:
    """One request from the keyword arguments of `build_run_request`; raises `ConfigInvalid`."""
    if late := sorted(values.keys() & OF_THE_PROCESS):
        raise ConfigInvalid(
            [
                f"{name}: a setting of the process; give it to run_evaluation_request"
                for name in late
            ]
        )
    return resolve_run(values, cwd=cwd, environ=environ).request


def resolve_process(
    request: RunRequest,
    values: Mapping[str, Any],
    *,
    cwd: Path,
    environ: Mapping[str, str],
) -> Resolved:
    """A request that is made already, with the keyword arguments of `run_evaluation_request`.

    Where `config_path` is not given, the files count that the request was made from. Raises
    `ConfigInvalid`.
    """
    if not isinstance(request, RunRequest):
        raise ConfigInvalid([f"request: expected a RunRequest, got {type(request).__name__}"])
    allowed = {*OF_THE_PROCESS, "recipe_dirs", "config_path"}
    if early := sorted((values.keys() - allowed) & KEYWORDS):
        raise ConfigInvalid(
            [f"{name}: the request is made already; give it to build_run_request" for name in early]
        )
    given = {**values, "config_path": config_paths(values) or config_paths(request.metadata)}
    found = gather(given, {}, cwd=cwd, environ=environ, spell=str)
    found.check()
    options = process_options(found)
    return Resolved(request=with_recipe_dirs(request, options.recipe_dirs), options=options)


def request_parts(found: Gathered, ids: Ids, spell: Callable[[str], str]) -> Parts:
    """The components' parameters and the model; their faults are noted in `found`."""
    params = component_params(found, ids, spell)
    _check_artifacts_of_fresh(found, params)
    return Parts(params=params, model=model_spec(found, spell))


def _ids(
    values: Mapping[str, Any], spell: Callable[[str], str], faults: list[str]
) -> dict[Kind, str]:
    """The ids of the chosen components; what is missing is noted and left out."""
    given = {"environment": DEFAULT_ENVIRONMENT}
    given |= {kind: values[kind] for kind in COMPONENTS if values.get(kind) is not None}
    ids: dict[Kind, str] = {}
    for kind in COMPONENTS:
        component_id = given.get(kind)
        if isinstance(component_id, str) and component_id.strip():
            ids[kind] = component_id
        else:
            faults.append(f"{spell(kind)}: the id of the {kind} is required")
    return ids


def _check_artifacts_of_fresh(found: Gathered, params: Params) -> None:
    mode = params.get("environment", {}).get("evaluation_mode")
    if mode == "fresh" and found.at("execution", "save_artifacts") is False:
        label = found.origin("execution", "save_artifacts")
        found.faults.append(f"{label}: evaluation_mode fresh needs the artifacts; leave it out")


def run_request(
    found: Gathered, ids: Ids, parts: Parts, *, metadata: Mapping[str, Any]
) -> RunRequest:
    """The request of settings that have no fault."""
    runtime = _section(found, "runtime", RuntimeSection)
    output = _section(found, "output", OutputSection)
    folders = runtime.recipe_dirs
    common, own = environment.split(parts.params["environment"])
    where = {**common, "id": ids["environment"], "params": own}
    return RunRequest(
        benchmark=ComponentSpec(id=ids["benchmark"], params=parts.params["benchmark"]),
        harness=ComponentSpec(id=ids["harness"], params=parts.params["harness"]),
        model=parts.model,
        environment=structure_settings(where, EnvironmentSpec, path="environment"),
        execution=_section(found, "execution", ExecutionOptions),
        runtime=ReuseOptions(
            reuse=runtime.reuse,
            reuse_run_id=runtime.reuse_run_id,
            checkpoint_resume=runtime.checkpoint_resume,
        ),
        output=OutputOptions(run_name=output.run_name, run_id=output.run_id),
        metadata={**metadata, **({"recipe_dirs": list(folders)} if folders else {})},
    )


def process_options(found: Gathered) -> ProcessOptions:
    """The settings of the process."""
    runtime = _section(found, "runtime", RuntimeSection)
    same = {name.name for name in attrs.fields(ProcessOptions)} & {
        name.name for name in attrs.fields(RuntimeSection)
    }
    values: dict[str, Any] = {name: getattr(runtime, name) for name in same}
    values["timeout_seconds"] = runtime.timeout_seconds or None
    values["provider_limits"] = _none_for_zero(runtime.provider_limits)
    values["env_open_qps"] = _none_for_zero(runtime.env_open_qps)
    return ProcessOptions(**values)


def with_options(options: ProcessOptions, found: Gathered) -> ProcessOptions:
    """The options with what the settings say; limits and paces are by provider."""
    said = process_options(found)
    names = found.at("runtime") or {}
    changed = {name: getattr(said, name) for name in names}
    for name in {"provider_limits", "env_open_qps"} & changed.keys():
        changed[name] = {**getattr(options, name), **changed[name]}
    return attrs.evolve(options, **changed)


def with_recipe_dirs(request: RunRequest, folders: Iterable[str]) -> RunRequest:
    """The request with these folders of recipes on record, after its own."""
    both = list(dict.fromkeys([*request.metadata.get("recipe_dirs", ()), *folders]))
    if not both:
        return request
    return attrs.evolve(request, metadata={**request.metadata, "recipe_dirs": both})


def _none_for_zero(limits: Mapping[str, T]) -> dict[str, T | None]:
    """A user's 0 is no limit; it becomes None here and nowhere else."""
    return {name: value or None for name, value in limits.items()}


def _section(found: Gathered, name: str, kind: type[T]) -> T:
    return structure_settings(found.at(name) or {}, kind, path=name)
