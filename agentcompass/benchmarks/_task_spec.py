"""What a task.toml asks for, in the words of our records. Pure."""

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any

from agentcompass.benchmarks._task_toml import NAME, TaskToml
from agentcompass.benchmarks._task_toml_sections import (
    ArtifactEntry,
    EnvironmentSection,
    PhaseSection,
    VerifierSection,
)
from agentcompass.records.environment import NetworkPolicy, Resources
from agentcompass.records.task import ArtifactSpec, CollectCommand

MAIN = "main"  # the service that the agent works in, and the only one here


def resources(environment: EnvironmentSection) -> Resources:
    """Compute asked for; no GPU is not asking for one."""
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


def verifier_policy(verifier: VerifierSection) -> NetworkPolicy | None:
    """What scoring may reach; an environment of the verifier's own is public by default."""
    own = None if verifier.environment is None else policy(verifier.environment) or NetworkPolicy()
    return policy(verifier) or own


def artifacts(toml: TaskToml) -> tuple[ArtifactSpec, ...]:
    """The declared paths to keep, those of steps included, each once."""
    declared = [*toml.artifacts, *(entry for step in toml.steps for entry in step.artifacts)]
    return tuple(dict.fromkeys(_artifact(entry) for entry in declared))


def _artifact(entry: ArtifactEntry) -> ArtifactSpec:
    return ArtifactSpec(
        source=entry.source,
        destination=entry.destination,
        exclude=entry.exclude,
        service=None if entry.service == MAIN else entry.service,
    )


def collect_commands(verifier: VerifierSection) -> tuple[CollectCommand, ...]:
    """The commands that come before artifacts are collected."""
    return tuple(
        CollectCommand(
            command=entry.command,
            timeout_seconds=entry.timeout_sec,
            service=entry.service,
            user=entry.user,
        )
        for entry in verifier.collect
    )


def unsupported(toml: TaskToml) -> Iterator[str]:
    """What a task cannot be run or scored without, and what this version does not have."""
    environment, steps = toml.environment, toml.steps
    services = sorted(set(_services(toml)) - {MAIN})
    phases = [phase for step in steps for phase in (step.agent, step.verifier)]
    separate = [verifier.is_separate for verifier in (toml.verifier, *(s.verifier for s in steps))]
    own = toml.verifier.environment
    systems = {environment.os} | ({own.os} if own is not None else set())
    needs = {
        f"the services {', '.join(services)}": bool(services),
        f"the operating system {', '.join(sorted(systems - {'linux'}))!r}": systems != {"linux"},
        "a TPU": environment.tpu is not None or (own is not None and own.tpu is not None),
        "MCP servers, which no harness takes yet": bool(environment.mcp_servers),
        "a separate verifier in a task of several steps": bool(steps) and any(separate),
        "a network mode of a single step": any(phase.network_mode for phase in phases),
    }
    return (what for what, needed in needs.items() if needed)


def _services(toml: TaskToml) -> Iterator[str]:
    for entry in artifacts(toml):
        yield entry.service or MAIN
    for verifier in (toml.verifier, *(step.verifier for step in toml.steps)):
        yield from (command.service for command in verifier.collect)


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
