"""The sections `execution` and `runtime`: their fields, and what is refused in each source."""

import re
from collections.abc import Mapping
from typing import Any, Literal

import attrs

from agentcompass.config.merge import nest, pick
from agentcompass.config.scalars import settle
from agentcompass.config.settings import Setting
from agentcompass.errors import ConfigInvalid
from agentcompass.records.convert import structure_settings
from agentcompass.records.request import ExecutionOptions
from agentcompass.records.validators import not_negative, said_as

LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]
ProgressMode = Literal["auto", "plain", "none"]

# Seed 001: 128 for each built-in provider, and 10 opens a second for the remote ones.
_LIMITS = dict.fromkeys(("daytona", "docker", "fake", "host_process", "modal"), 128)
_PACES = dict.fromkeys(("daytona", "modal"), 10.0)


@said_as(pattern=r"^[^\x00]*[^\s\x00][^\x00]*$")
def _path(_instance: object, attribute: "attrs.Attribute[Any]", value: str | None) -> None:
    if value is not None and (not value.strip() or "\0" in value):
        raise ValueError(f"{attribute.name} must be a path, not {value!r}")


@said_as(allOf=[{"additionalProperties": {"minimum": 0}}])
def _none_negative(
    instance: object, attribute: "attrs.Attribute[Any]", value: Mapping[str, float]
) -> None:
    for name, number in value.items():
        if number < 0:
            raise ValueError(f"{attribute.name}.{name} must be at least 0, not {number:g}")


@said_as(pattern=r"^(?!\s*\.{0,2}\s*$)[^/\\\x00-\x1f\x7f]*$")
def _piece(_instance: object, attribute: "attrs.Attribute[Any]", value: str | None) -> None:
    if value is None:
        return
    if value.strip() in ("", ".", "..") or re.search(r"[/\\\x00-\x1f\x7f]", value):
        raise ValueError(f"{attribute.name} must be a plain name of one folder, not {value!r}")


@attrs.frozen(kw_only=True)
class RuntimeSection:
    """Section `runtime`: settings of the process. A limit, pace or timeout of 0 is none."""

    results_dir: str = attrs.field(default="results", validator=_path)
    data_dir: str = attrs.field(default="data", validator=_path)
    timeout_seconds: float = attrs.field(default=360_000.0, validator=not_negative)
    provider_limits: Mapping[str, int] = attrs.field(factory=dict, validator=_none_negative)
    env_open_qps: Mapping[str, float] = attrs.field(factory=dict, validator=_none_negative)
    progress: ProgressMode = "auto"
    log_level: LogLevel = "INFO"
    file_log_level: LogLevel = "DEBUG"
    log_file: str | None = attrs.field(default=None, validator=_path)
    auto_install_dependencies: bool = False
    recipe_dirs: tuple[str, ...] = ()
    reuse: bool = False
    reuse_run_id: str | None = attrs.field(default=None, validator=_piece)
    checkpoint_resume: bool = True


def all_limits(runtime: RuntimeSection) -> dict[str, int]:
    """Live sandboxes allowed by provider, with the default of each built-in one; 0 is no limit."""
    return {**_LIMITS, **runtime.provider_limits}


def all_paces(runtime: RuntimeSection) -> dict[str, float]:
    """Opens a second allowed by provider, with the default of each remote one; 0 is no pace."""
    return {**_PACES, **runtime.env_open_qps}


@said_as(pattern=r"^(?!.*(^|[/\\])\s*\.{0,2}\s*([/\\]|$))[^\x00-\x1f\x7f]*$|^$")
def _pieces(_instance: object, attribute: "attrs.Attribute[Any]", value: str) -> None:
    pieces = [piece.strip() for piece in re.split(r"[/\\]", value)]
    if value and (re.search(r"[\x00-\x1f\x7f]", value) or {"", ".", ".."} & set(pieces)):
        raise ValueError(
            f"{attribute.name} must be names of folders with / between them, not {value!r}"
        )


@attrs.frozen(kw_only=True)
class OutputSection:
    """Where the run is written; `run_name` may hold several folders, `run_id` is one."""

    run_name: str = attrs.field(default="", validator=_pieces)
    run_id: str | None = attrs.field(default=None, validator=_piece)


@attrs.frozen(kw_only=True)
class ModelSection:
    """The model as keywords give it; `api_protocol` is settled apart, since it has two forms."""

    id: str = ""
    base_url: str = ""
    api_key: str = attrs.field(default="", repr=False)
    api_protocol: Any = ""
    params: Mapping[str, Any] = attrs.field(factory=dict)


SECTIONS: Mapping[str, type[Any]] = {
    "execution": ExecutionOptions,
    "runtime": RuntimeSection,
    "output": OutputSection,
    "model": ModelSection,
}


def settled(setting: Setting, faults: list[str]) -> Setting | None:
    """A setting of one of `SECTIONS` with its final types, or None with its faults noted.

    Fields are looked at one by one, so that one fault does not hide another.
    """
    kind = SECTIONS[setting.path[0]]
    tree = nest(setting.path[1:], setting.value)
    if not isinstance(tree, Mapping):
        faults.append(f"{setting.label}: expected an object, got {type(tree).__name__}")
        return None
    tree = settle(_spelled_out(tree), kind)
    found = [fault for name in tree for fault in _faults({name: tree[name]}, kind, setting)]
    faults.extend(found)
    return None if found else attrs.evolve(setting, value=pick(tree, setting.path[1:]))


def _faults(field: Mapping[str, Any], kind: type[Any], setting: Setting) -> list[str]:
    try:
        structure_settings(field, kind, path="")
    except ConfigInvalid as error:
        return [_shortened(fault, setting) for fault in error.faults]
    return []


def _shortened(fault: str, setting: Setting) -> str:
    """The fault of an option or keyword that is one field, without that field's own name."""
    if len(setting.path) == 1:
        return setting.label + fault
    for name in setting.path[1:]:
        fault = fault.removeprefix(f".{name}")
    return setting.label + re.sub(rf"^: '?{setting.path[-1]}'?(?:\.| (?=must))", ": ", fault)


def _spelled_out(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    """`artifacts` and `artifact_collect` with their short entries, a path or a command, in full."""
    full = dict(tree)
    for name, field in (("artifacts", "source"), ("artifact_collect", "command")):
        if isinstance(tree.get(name), list | tuple):
            full[name] = [
                entry if isinstance(entry, Mapping) else {field: entry} for entry in tree[name]
            ]
    return full
