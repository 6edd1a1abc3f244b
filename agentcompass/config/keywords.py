"""The keywords of `run_evaluation`, which are also the options of `run`, as settings."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from agentcompass.config.settings import Setting
from agentcompass.registry import Kind

# In the order in which they win: what stands for itself after the mapping that may hold it too.
_PLACES: Mapping[str, tuple[str, ...]] = {
    "execution_params": ("execution",),
    "task_concurrency": ("execution", "task_concurrency"),
    "k": ("execution", "attempts", "k"),
    "attempt_strategy": ("execution", "attempts", "strategy"),
    "max_retries": ("execution", "max_retries"),
    "retry_pattern_list": ("execution", "retry_pattern_list"),
    "enabled_recipes": ("execution", "enabled_recipes"),
    "keep_environment": ("execution", "keep_environment"),
    "enable_analysis": ("execution", "enable_analysis"),
    "analysis_params": ("execution", "analysis_params"),
    "results_dir": ("runtime", "results_dir"),
    "data_dir": ("runtime", "data_dir"),
    "timeout_seconds": ("runtime", "timeout_seconds"),
    "provider_limits": ("runtime", "provider_limits"),
    "env_open_qps": ("runtime", "env_open_qps"),
    "progress": ("runtime", "progress"),
    "log_level": ("runtime", "log_level"),
    "file_log_level": ("runtime", "file_log_level"),
    "log_file": ("runtime", "log_file"),
    "auto_install_dependencies": ("runtime", "auto_install_dependencies"),
    "recipe_dirs": ("runtime", "recipe_dirs"),
    "reuse": ("runtime", "reuse"),
    "reuse_run_id": ("runtime", "reuse_run_id"),
    "checkpoint_resume": ("runtime", "checkpoint_resume"),
    "run_name": ("output", "run_name"),
    "run_id": ("output", "run_id"),
    "model": ("model", "id"),
    "model_base_url": ("model", "base_url"),
    "model_api_key": ("model", "api_key"),
    "model_api_protocol": ("model", "api_protocol"),
    "model_params": ("model", "params"),
}

# Each component by its id, and the section that its parameters are merged into.
COMPONENTS: Mapping[Kind, str] = {
    "benchmark": "benchmarks",
    "harness": "harnesses",
    "environment": "environments",
}

KEYWORDS = frozenset({"config_path", *_PLACES, *COMPONENTS, *(f"{k}_params" for k in COMPONENTS)})

# Those of the process, which say nothing of what is measured; recipe_dirs says something of both.
OF_THE_PROCESS = frozenset(
    name
    for name, (section, *_) in _PLACES.items()
    if section == "runtime"
    and name not in {"recipe_dirs", "reuse", "reuse_run_id", "checkpoint_resume"}
)


def keyword_settings(
    values: Mapping[str, Any], ids: Mapping[Kind, str], spell: Callable[[str], str]
) -> list[Setting]:
    """What was given by keyword, later ones winning; None is what was not given.

    `ids` holds the id of each of `COMPONENTS`; `spell` tells how the caller writes a keyword.
    """
    places = dict(_PLACES)
    places |= {f"{kind}_params": (COMPONENTS[kind], ids[kind]) for kind in ids}
    return [
        Setting(label=spell(name), path=place, value=_plain(values[name]))
        for name, place in places.items()
        if values.get(name) is not None
    ]


def keyword_place(where: str, keyword: str) -> str:
    """The place below `where` in an orchestration at which it says what a keyword of a run says."""
    if keyword in COMPONENTS:
        return f"{where}.{keyword}.id"
    component = keyword.removesuffix("_params")
    return ".".join((where, *_PLACES.get(keyword, (component,))))


def unwritable_faults(values: Mapping[str, Any], spell: Callable[[str], str]) -> Iterator[str]:
    """The mappings that hold themselves, and what of the model's parameters no request can hold."""
    for name, value in values.items():
        default = os.fspath if name == "model_params" else repr
        try:
            json.dumps(dict(value) if isinstance(value, Mapping) else None, default=default)
        except (RecursionError, ValueError):
            yield f"{spell(name)}: nested too deep, holds itself, or holds bytes"
        except TypeError as error:
            if name == "model_params":
                yield f"{spell(name)}: holds what JSON cannot: {error}"


def config_paths(values: Mapping[str, Any]) -> list[str]:
    """The configuration files that were named, in order."""
    given = values.get("config_path") or ()
    many = [given] if isinstance(given, str | os.PathLike) else list(given)
    return [os.fspath(path) for path in many]


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple | set | frozenset) else value
