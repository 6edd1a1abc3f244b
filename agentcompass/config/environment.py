"""Environment parameters: the fields common to all providers, and those of the provider itself."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from agentcompass.config.settings import Setting, leaves
from agentcompass.records.request import EnvironmentSpec

COMMON = tuple(
    field.name for field in attrs.fields(EnvironmentSpec) if field.name not in ("id", "params")
)

# Spellings that are read as well: the peer's, and the short form of the one field of a setup
# that nearly every use needs.
ALIASES: Mapping[str, tuple[str, ...]] = {
    "image": ("setup", "image"),
    "evaluation_environment_mode": ("evaluation_mode",),
    "baseline_network_policy": ("network_policy",),
    "evaluation_network_policy": ("verifier_network_policy",),
}


def spelled_out(setting: Setting, faults: list[str]) -> Setting:
    """The parameters of one source with every alias in its full spelling."""
    if not isinstance(setting.value, Mapping):
        return setting
    params = dict(setting.value)
    for alias, path in ALIASES.items():
        if alias not in params:
            continue
        value = params.pop(alias)
        setting = setting.also_at((*setting.path, *path), (*setting.path, alias))
        if not _put(params, path, value):
            faults.append(f"{setting.label}: {alias} and {'.'.join(path)} are the same; give one")
    return attrs.evolve(setting, value=params)


def _put(params: dict[str, Any], path: tuple[str, ...], value: Any) -> bool:
    *above, last = path
    for name in above:
        inner = params.get(name)
        if inner is not None and not isinstance(inner, Mapping):
            return False
        params[name] = dict(inner or {})
        params = params[name]
    if last in params:
        return False
    params[last] = value
    return True


def split(params: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What belongs to every provider's schema, and the provider's own parameters."""
    common = {name: value for name, value in params.items() if name in COMMON}
    own = {name: value for name, value in params.items() if name not in COMMON}
    return common, own


def common_faults(common: Mapping[str, Any]) -> Iterator[str]:
    """What the types of the common fields let pass and no provider could give."""
    for path, value in leaves({name: common[name] for name in common if name != "env_variables"}):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and not 0 <= value < math.inf:
            yield f".{'.'.join(path)}: expected a number of at least 0, got {value:g}"
    variables = common.get("env_variables")
    for name, value in variables.items() if isinstance(variables, Mapping) else ():
        if not name or "=" in name or "\0" in f"{name}{value}":
            yield f".env_variables: {name!r} cannot be the name of a variable, or holds NUL"
