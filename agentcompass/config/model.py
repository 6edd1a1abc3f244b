"""The model under test, from its keywords."""

from collections.abc import Callable
from typing import Any

from agentcompass.config.components import component_class, is_planned_or_known
from agentcompass.config.gather import Gathered
from agentcompass.errors import UsageError
from agentcompass.records.request import ModelSpec
from agentcompass.registry import known

_ANY_PROTOCOL = ("", "auto")


def model_spec(found: Gathered, spell: Callable[[str], str]) -> ModelSpec:
    """The model; what cannot be used is noted in `found.faults`."""
    model_id = found.at("model", "id") or ""
    base_url = found.at("model", "base_url") or ""
    if not model_id.strip() and not found.is_refused("model", "id"):
        found.faults.append(f"{spell('model')}: the id of a model is required")
    if base_url and not base_url.startswith(("http://", "https://")):
        found.faults.append(f"{spell('model_base_url')}: expected http://... or https://...")
    return ModelSpec(
        id=model_id,
        base_url=base_url,
        api_key=found.at("model", "api_key") or "",
        api_protocol=_protocol(found, spell("model_api_protocol")),
        params=found.at("model", "params") or {},
    )


def _protocol(found: Gathered, label: str) -> str | tuple[str, ...]:
    """One name, an ordered list of names, or empty where any will do."""
    given = found.at("model", "api_protocol")
    if given is None or given in _ANY_PROTOCOL:
        return ""
    names: list[Any] = given if isinstance(given, list) else [given]
    if not names or not all(isinstance(name, str) for name in names):
        found.faults.append(f"{label}: expected a protocol, auto, or a list of protocols")
        return ""
    found.faults.extend(_unusable(names, label))
    return tuple(names) if isinstance(given, list) else names[0]


def _unusable(names: list[str], label: str) -> list[str]:
    """Every name that nobody knows; or, where none is there yet, what the first one lacks."""
    protocols = ", ".join(known("model"))
    unknown = [name for name in names if not is_planned_or_known("model", name)]
    if unknown:
        return [f"{label}: protocol {name!r} is not known; known: {protocols}" for name in unknown]
    if any(name in known("model") for name in names):
        return []
    try:
        component_class("model", names[0])
    except UsageError as error:
        return [f"{label}: {error}"]
    return []
