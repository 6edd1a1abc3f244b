"""The cores, memory and GPUs that a container may be given on its host. Pure."""

import math
from collections.abc import Mapping
from typing import Any

import attrs

from agentcompass.environments._docker_config import DockerConfig, size_bytes
from agentcompass.errors import EnvironmentFailed
from agentcompass.records.environment import Resources

_MB = 2**20
# The least that an engine takes.
_LEAST_CORES, _LEAST_MB = 0.01, 6


@attrs.frozen(kw_only=True)
class Limits:
    """What is asked for: cores, bytes, a number of GPUs (-1 is all); None is no limit."""

    cpus: float | None
    memory_bytes: int | None
    gpus: int | None


def limits_of(config: DockerConfig, resources: Resources) -> Limits:
    """What a parameter says, else what the plan does."""
    memory = None if resources.memory_mb is None else resources.memory_mb * _MB
    return Limits(
        cpus=resources.cpu if config.cpus is None else config.cpus,
        memory_bytes=memory if config.memory is None else size_bytes(config.memory),
        gpus=resources.gpu if config.gpus is None else config.gpus,
    )


def refuse(limits: Limits, about: Mapping[str, Any]) -> None:
    """`EnvironmentFailed` names a limit that the engine, by its /info, cannot give."""
    memory_mb = None if limits.memory_bytes is None else limits.memory_bytes / _MB
    most = about["MemTotal"] // _MB
    _refuse_beyond("cpus", limits.cpus, (_LEAST_CORES, about["NCPU"]), "cores")
    _refuse_beyond("memory", memory_mb, (_LEAST_MB, most), "MB")
    _refuse_beyond("gpus", limits.gpus, (-1, math.inf), "GPUs")
    if limits.gpus and "nvidia" not in about["Runtimes"]:
        raise EnvironmentFailed(
            f"gpus: {limits.gpus} cannot be given: the Docker Engine has no runtime nvidia; install"
            " the NVIDIA Container Toolkit and run `nvidia-ctk runtime configure --runtime=docker`"
        )


def _refuse_beyond(name: str, asked: float | None, bounds: tuple[float, float], unit: str) -> None:
    # In this form it refuses NaN too.
    if asked is not None and not bounds[0] <= asked <= bounds[1]:
        raise EnvironmentFailed(
            f"{name}: {asked:g} {unit} cannot be given: the Docker Engine gives"
            f" {bounds[0]:g} to {bounds[1]:g}; parameter {name} sets another limit"
        )
