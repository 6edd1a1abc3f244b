"""What a task.toml asks for, in the words of our records. Pure."""

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any

from agentcompass.benchmarks._task_toml import NAME, PhaseSection, TaskToml
from agentcompass.records.environment import NetworkPolicy, Resources
from agentcompass.records.task import ArtifactSpec, CollectCommand


def resources(toml: TaskToml) -> Resources:
    """Compute asked for; no GPU is not asking for one."""
    environment = toml.environment
    return Resources(
        cpu=environment.cpus,
        memory_mb=environment.memory_mb,
        storage_mb=environment.storage_mb,
        gpu=environment.gpus or None,
        gpu_type=next(iter(environment.gpu_types or ()), None) if environment.gpus else None,
    )


def policy(section: PhaseSection) -> NetworkPolicy | None:
    """What a section says about the network, or None where it says nothing."""
    if section.network_mode is None:
        return None
    return NetworkPolicy(
        network_mode=section.network_mode, allowed_hosts=section.allowed_hosts or ()
    )


def artifacts(toml: TaskToml) -> tuple[ArtifactSpec, ...]:
    """The declared paths to keep."""
    return tuple(
        ArtifactSpec(
            source=entry.source,
            destination=entry.destination,
            exclude=entry.exclude,
            service=entry.service,
        )
        for entry in toml.artifacts
    )


def collect_commands(toml: TaskToml) -> tuple[CollectCommand, ...]:
    """The commands that come before artifacts are collected."""
    return tuple(
        CollectCommand(
            command=entry.command,
            timeout_seconds=entry.timeout_sec,
            service=entry.service,
            user=entry.user,
        )
        for entry in toml.verifier.collect
    )


def unsupported(toml: TaskToml) -> Iterator[str]:
    """What a task cannot be run or scored without, and what this version does not have."""
    environment, verifier = toml.environment, toml.verifier
    named = {entry.service or "main" for entry in toml.artifacts}
    services = (named | {entry.service for entry in verifier.collect}) - {"main"}
    needs = {
        f"the services {', '.join(sorted(services))}": bool(services),
        "several steps": bool(toml.steps),
        f"the operating system {environment.os!r}": environment.os != "linux",
        "a TPU": environment.tpu is not None,
        "MCP servers": bool(environment.mcp_servers),
        "a health check": environment.healthcheck is not None,
        "[verifier.environment]": verifier.environment is not None,
    }
    return (what for what, needed in needs.items() if needed)


def without_effect(toml: TaskToml) -> Iterator[str]:
    """What a task can do without, and does."""
    if toml.environment.skills_dir is not None:
        yield f"{NAME}.environment.skills_dir has no effect: no harness takes skills yet"
    if len(toml.environment.gpu_types or ()) > 1:
        yield f"{NAME}.environment.gpu_types: only the first one is asked for"


def plain(value: Any) -> Any:
    """A value of TOML as one of JSON: dates and times become text."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value.isoformat() if isinstance(value, dt.date | dt.time) else value
