"""The parameters of environment `docker`."""

import ipaddress
import re
from decimal import Decimal
from typing import Any, Literal

import attrs

from agentcompass.environments._launch import encode_env
from agentcompass.errors import EnvironmentFailed
from agentcompass.records.validators import not_negative, said_as

Pull = Literal["missing", "always", "never"]

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([bkmg]?)i?b?", re.IGNORECASE)
# Less is rounded to none by the engine, which is no limit.
_CORES = (0.01, 1e6)
# With fewer an engine cannot start a command, and the kernel has no more (PID_MAX_LIMIT).
_PROCESSES = (32, 2**22)
_UNITS = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30}


def size_bytes(text: str) -> int:
    """Bytes of a size as docker spells it: 512m, 2g, a plain number; `ValueError` for others."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"memory: expected a size such as 512m or 2g, got {text!r}")
    return int(Decimal(found[1]) * _UNITS[found[2].lower()])


def _is_size(_: object, __: Any, value: str | None) -> None:
    # The engine takes 0 for no limit, and no number of more than 63 bits.
    if value is not None and not 1 <= size_bytes(value) < 2**63:
        raise ValueError(f"memory: expected a size that can be a limit, got {value!r}")


@said_as(minimum=_CORES[0], maximum=_CORES[1])
def _are_cores(_: object, __: Any, value: float | None) -> None:
    if value is not None and not _CORES[0] <= value <= _CORES[1]:
        raise ValueError(f"cpus: expected {_CORES[0]:g} to {_CORES[1]:g} cores, got {value!r}")


def _is_number_of_processes(_: object, __: Any, value: int) -> None:
    if value and not _PROCESSES[0] <= value <= _PROCESSES[1]:
        raise ValueError(
            f"pids: expected 0 or {_PROCESSES[0]} to {_PROCESSES[1]} processes, got {value}"
        )


def _is_absolute(_: object, __: Any, value: str | None) -> None:
    if value is not None and not value.startswith("/"):
        raise ValueError(f"workdir: expected an absolute path, got {value!r}")


def _are_variables(_: object, __: Any, value: dict[str, str]) -> None:
    try:
        encode_env(value)
    except EnvironmentFailed as error:
        raise ValueError(f"env: {error}") from error


def _are_mounts(_: object, __: Any, value: tuple[str, ...]) -> None:
    for mount in value:
        parts = mount.split(":")
        if len(parts) not in (2, 3) or not all(parts) or not parts[1].startswith("/"):
            raise ValueError(f"mounts: expected HOST:CONTAINER or HOST:CONTAINER:ro, got {mount!r}")


def _are_addresses(_: object, __: Any, value: tuple[str, ...]) -> None:
    for address in value:
        try:
            ipaddress.IPv4Address(address)
        except ValueError as error:
            raise ValueError(f"dns: expected IPv4 addresses, got {address!r}") from error


def _parameter(default: Any, meaning: str, unit: str, validator: Any = None) -> Any:
    return attrs.field(
        default=default, validator=validator, metadata={"help": meaning, "unit": unit}
    )


@attrs.frozen(kw_only=True)
class DockerConfig:
    """Parameters of `docker`. What is set here wins over `setup` and `resources`, and over what a
    task asks; the verifier's container gets it as well.
    """

    sandbox_start_timeout: float = _parameter(
        600.0,
        "Time to have a container ready, its image pulled or built included; 0 is no limit.",
        "seconds",
        not_negative,
    )
    operation_timeout: float = _parameter(
        600.0,
        "Time for one file or process operation that has no limit of its own; 0 is no limit.",
        "seconds",
        not_negative,
    )
    dockerfile: str = _parameter(
        "Dockerfile",
        "The file in a task's environment/ folder (setup.build_context) that is built where no"
        " image is named.",
        "file name",
    )
    pull: Pull = _parameter(
        "missing", "When an image is pulled: where the engine has none, always, or never.", "policy"
    )
    platform: str | None = _parameter(
        None, "The platform of image and container, such as linux/amd64.", "os/architecture"
    )
    user: str | None = _parameter(
        None, "Who runs commands: a name or id, also as user:group; null is the image's.", "user"
    )
    workdir: str | None = _parameter(
        None,
        "Where commands run; null is the image's, or /app where it has none.",
        "path",
        _is_absolute,
    )
    env: dict[str, str] = attrs.field(
        factory=dict,
        validator=_are_variables,
        metadata={
            "help": "Variables of every command; env_variables and a task's own win over these.",
            "unit": "name to value",
        },
    )
    mounts: tuple[str, ...] = _parameter(
        (),
        "Host folders for the container: HOST:CONTAINER, with :ro read-only.",
        "paths",
        _are_mounts,
    )
    cpus: float | None = _parameter(
        None,
        "Cores that a container may use at most.",
        "cores",
        _are_cores,
    )
    memory: str | None = _parameter(
        None, "Memory, swap included, such as 512m or 2g.", "size", _is_size
    )
    pids: int = _parameter(
        4096,
        "Processes and threads of a container at the same time; 0 is no limit.",
        "processes",
        _is_number_of_processes,
    )
    gpus: int | None = _parameter(
        None,
        "Number of GPUs; -1 is all of them.",
        "GPUs",
    )
    network: str = _parameter(
        "bridge", "The network of a container under policy public or allowlist.", "network name"
    )
    dns: tuple[str, ...] = _parameter(
        (),
        "DNS servers of a container, IPv4; where there are none, those that the engine gives.",
        "addresses",
        _are_addresses,
    )
    output_limit_bytes: int = _parameter(
        2**20,
        "What is kept of stdout, and of stderr, of one command: half of it from the beginning,"
        " half from the end.",
        "bytes",
        not_negative,
    )
    kill_grace_seconds: float = _parameter(
        0.1,
        "Time between SIGTERM and SIGKILL for processes that are ended.",
        "seconds",
        not_negative,
    )
