"""The sections of a task.toml as strict frozen records; [metadata] and the root are not here."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Literal

import attrs

from agentcompass.benchmarks._health import HealthCheck
from agentcompass.records.validators import positive

VERIFIER_SECONDS = 600.0

TomlNetworkMode = Literal["public", "no-network", "allowlist"]


def _at_least_0(_instance: object, attribute: "attrs.Attribute[Any]", value: int | None) -> None:
    if value is not None and value < 0:
        raise ValueError(f"{attribute.name} must be at least 0, not {value}")


def _absolute(_instance: object, attribute: "attrs.Attribute[Any]", value: str) -> None:
    if not value.startswith("/"):
        raise ValueError(f"{attribute.name} {value!r} must be an absolute path")


def _inside(_instance: object, attribute: "attrs.Attribute[Any]", value: str | None) -> None:
    if value is not None and ".." in PurePosixPath(value).parts:
        raise ValueError(f"{attribute.name} {value!r} must not contain '..'")


def _folder_name(_instance: object, attribute: "attrs.Attribute[Any]", value: str) -> None:
    if not value.strip() or value in (".", "..") or set(value) & set("/\\\0"):
        raise ValueError(f"{attribute.name} {value!r} cannot be the name of a folder")


def _relative(_instance: object, attribute: "attrs.Attribute[Any]", value: str | None) -> None:
    if value is not None and (value.startswith("/") or "\\" in value or not value.strip("./ ")):
        raise ValueError(f"{attribute.name} {value!r} must be a relative path with '/'")


@attrs.frozen(kw_only=True)
class PhaseSection:
    """What a phase may set about the network; the mode None takes the environment's."""

    network_mode: TomlNetworkMode | None = None
    allowed_hosts: tuple[str, ...] | None = None

    def __attrs_post_init__(self) -> None:
        if self.allowed_hosts and self.network_mode != "allowlist":
            raise ValueError("allowed_hosts needs network_mode = 'allowlist'")


@attrs.frozen(kw_only=True)
class AgentSection(PhaseSection):
    """[agent]; without `timeout_sec` the harness has its own default."""

    timeout_sec: float | None = attrs.field(default=None, validator=positive)
    user: str | None = None


@attrs.frozen(kw_only=True)
class CollectEntry:
    """[[verifier.collect]]: a command that puts state into files before they are collected."""

    command: str
    service: str = "main"
    timeout_sec: float = attrs.field(default=60.0, validator=positive)
    user: str | None = None


@attrs.frozen(kw_only=True)
class EnvironmentSection(PhaseSection):
    """[environment]. Resources of None are the provider's to choose."""

    build_timeout_sec: float = attrs.field(default=600.0, validator=positive)
    docker_image: str | None = None
    os: str = "linux"
    cpus: float | None = attrs.field(default=None, validator=positive)
    memory_mb: int | None = attrs.field(default=None, validator=positive)
    storage_mb: int | None = attrs.field(default=None, validator=positive)
    gpus: int | None = attrs.field(default=None, validator=_at_least_0)
    gpu_types: tuple[str, ...] | None = None
    tpu: Mapping[str, Any] | None = None
    mcp_servers: tuple[Mapping[str, Any], ...] = ()
    env: Mapping[str, str] = attrs.field(factory=dict)
    skills_dir: str | None = None
    healthcheck: HealthCheck | None = None
    workdir: str | None = None


@attrs.frozen(kw_only=True)
class VerifierSection(PhaseSection):
    """[verifier]; without `timeout_sec` it is `VERIFIER_SECONDS`, for a step what the task says."""

    timeout_sec: float | None = attrs.field(default=None, validator=positive)
    env: Mapping[str, str] = attrs.field(factory=dict)
    user: str | None = None
    environment_mode: Literal["shared", "separate"] | None = None
    environment: EnvironmentSection | None = None
    collect: tuple[CollectEntry, ...] = ()

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.environment_mode == "shared" and self.environment is not None:
            raise ValueError("environment_mode is 'shared', but there is a [verifier.environment]")

    @property
    def is_separate(self) -> bool:
        """Whether scoring happens in a new environment; having one of its own says so too."""
        return self.environment_mode == "separate" or self.environment is not None


@attrs.frozen(kw_only=True)
class SolutionSection:
    """[solution]."""

    env: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class ArtifactEntry:
    """A path of the sandbox to keep, and where below the artifacts folder."""

    source: str = attrs.field(validator=[_absolute, _inside])
    destination: str | None = attrs.field(default=None, validator=[_inside, _relative])
    exclude: tuple[str, ...] = ()
    service: str | None = None


@attrs.frozen(kw_only=True)
class StepSection:
    """[[steps]]: one piece of a task, with its folder steps/<name>/.

    Without the rewards in `min_reward`, by name, no further step follows.
    """

    name: str = attrs.field(validator=_folder_name)
    agent: AgentSection = AgentSection()
    verifier: VerifierSection = VerifierSection()
    min_reward: Mapping[str, float] = attrs.field(factory=dict)
    healthcheck: HealthCheck | None = None
    artifacts: tuple[ArtifactEntry, ...] = ()
