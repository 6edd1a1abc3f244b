"""Older and shorter spellings in task.toml, put into those of the newest schema. Pure."""

from collections.abc import Mapping
from typing import Any

_UNITS = {"K": 1 / 1024, "M": 1, "G": 1024}


def in_current_spelling(raw: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a parsed task.toml with only current spellings; what it says stays the same.

    `version`, `memory = "2G"`, `storage`, `allow_internet`, artifacts as bare text, users and
    `min_reward` as numbers. `ValueError` starts with the path of what cannot be read; a value of a
    wrong type is left for the records to refuse.
    """
    current = _sections(raw)
    if "version" in current:
        version = current.pop("version")
        current.setdefault("schema_version", version)
    if isinstance(current.get("environment"), Mapping):
        current["environment"] = _environment(current["environment"], "environment")
    if isinstance(current.get("steps"), list):
        current["steps"] = [
            _step(step, f"steps[{index}].") if isinstance(step, Mapping) else step
            for index, step in enumerate(current["steps"])
        ]
    return current


def _step(raw: Mapping[str, Any], path: str) -> dict[str, Any]:
    current = _sections(raw, path)
    least = current.get("min_reward")
    if isinstance(least, int | float) and not isinstance(least, bool):
        current["min_reward"] = {"reward": least}
    return current


def _sections(raw: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """What the root and a step have alike: artifacts, [agent] and [verifier]."""
    current = dict(raw)
    if isinstance(current.get("artifacts"), list):
        current["artifacts"] = [
            {"source": entry} if isinstance(entry, str) else entry for entry in current["artifacts"]
        ]
    if isinstance(current.get("agent"), Mapping):
        current["agent"] = _with_text_user(current["agent"])
    if isinstance(current.get("verifier"), Mapping):
        current["verifier"] = _verifier(current["verifier"], f"{path}verifier")
    return current


def _with_text_user(section: Mapping[str, Any]) -> dict[str, Any]:
    user = section.get("user")
    return {**section, "user": str(user)} if type(user) is int else dict(section)


def _verifier(section: Mapping[str, Any], path: str) -> dict[str, Any]:
    current = _with_text_user(section)
    if isinstance(current.get("environment"), Mapping):
        current["environment"] = _environment(current["environment"], f"{path}.environment")
    if isinstance(current.get("collect"), list):
        current["collect"] = [
            _with_text_user(entry) if isinstance(entry, Mapping) else entry
            for entry in current["collect"]
        ]
    return current


def _environment(section: Mapping[str, Any], path: str) -> dict[str, Any]:
    current = dict(section)
    _resize(current, "memory", path)
    _resize(current, "storage", path)
    internet = current.pop("allow_internet", None)
    if internet is not None and type(internet) is not bool:
        raise ValueError(f"{path}.allow_internet: expected true or false, got {internet!r}")
    if internet is not None and not {"network_mode", "allowed_hosts"} & current.keys():
        current["network_mode"] = "public" if internet else "no-network"
    if isinstance(current.get("os"), str):
        current["os"] = current["os"].lower()
    return current


def _resize(section: dict[str, Any], name: str, path: str) -> None:
    """Turn `memory = "2G"` into `memory_mb = 2048`; both at once have to agree."""
    if name not in section:
        return
    size = _megabytes(section.pop(name), f"{path}.{name}")
    if section.setdefault(f"{name}_mb", size) != size:
        raise ValueError(f"{path}.{name} says {size} MB, {name}_mb {section[f'{name}_mb']!r}")


def _megabytes(value: Any, path: str) -> int:
    text = value.strip().upper() if isinstance(value, str) else ""
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not number.replace(".", "", 1).isdecimal():
        raise ValueError(f"{path}: expected a size such as '512M' or '2G', got {value!r:.40}")
    return int(float(number) * _UNITS[unit])
