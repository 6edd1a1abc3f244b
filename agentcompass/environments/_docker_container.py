"""A container as it is asked for, and what became of one in words. Pure."""

from collections.abc import Mapping
from typing import Any

import attrs

from agentcompass.environments import _docker_keeper as keeper
from agentcompass.environments._docker_config import DockerConfig
from agentcompass.environments._docker_limits import limits_of
from agentcompass.errors import EnvironmentFailed
from agentcompass.protocols import SessionRequest
from agentcompass.records.environment import Resources

# Whatever is ours on an engine carries the first of these.
RUN, TASK, ATTEMPT = "agentcompass.run", "agentcompass.task", "agentcompass.attempt"
ROLE, OWNER, DIRECTORY = "agentcompass.role", "agentcompass.owner", "agentcompass.directory"

PREFIX = "agentcompass-"
# What the name of a session's helper ends with; it begins with that of the session's container.
HELPER = "-network"

# Where there is no keeper for an architecture. Every `sleep` understands it, as not `infinity`.
_STAY = ("sleep", "2147483647")
_NO_LIMIT = -1


@attrs.frozen(kw_only=True)
class Image:
    """An image that is on the engine: how to name it, and what it says of itself."""

    name: str
    user: str = ""
    workdir: str = ""
    architecture: str = ""
    built: bool = False


def labels(request: SessionRequest) -> dict[str, str]:
    """Whose container it is."""
    return {
        RUN: request.run_id,
        TASK: request.task_id,
        ATTEMPT: str(request.attempt),
        ROLE: request.role,
        OWNER: request.resource.owner,
        DIRECTORY: request.resource.directory,
    }


def create_body(
    config: DockerConfig, request: SessionRequest, image: Image, *, network: str
) -> dict[str, Any]:
    """The request that creates the container; the variables of a session are not in it."""
    return {
        "Image": image.name,
        # The image's own is put aside.
        "Entrypoint": _STAY if keeper.program(image.architecture) is None else (keeper.PATH,),
        "Cmd": [],
        "User": user_of(config, request, image),
        "Labels": labels(request),
        "HostConfig": {
            "Init": True,
            # By raw packets a task would get past every rule, and by a mark for the helper.
            "CapDrop": ["NET_RAW"],
            # Root inside may look into the processes of others only with this.
            "CapAdd": ["SYS_PTRACE"],
            "Dns": config.dns,
            "NetworkMode": network,
            "Binds": config.mounts,
            **_limits(config, request.plan.resources),
        },
    }


def user_of(config: DockerConfig, request: SessionRequest, image: Image) -> str:
    """Who runs commands, as docker spells it; empty is root."""
    return config.user or request.plan.setup.user or image.user


def workdir_of(config: DockerConfig, request: SessionRequest, image: Image) -> str:
    """Where commands run; `EnvironmentFailed` for what is not absolute."""
    found = config.workdir or request.plan.setup.workdir
    if found is None:
        found = image.workdir if image.workdir not in ("", "/") else "/app"
    if not found.startswith("/"):
        raise EnvironmentFailed(f"the working directory {found!r} is not an absolute path")
    return found


def _limits(config: DockerConfig, resources: Resources) -> dict[str, Any]:
    asked = limits_of(config, resources)
    limits: dict[str, Any] = {"PidsLimit": config.pids or _NO_LIMIT}
    if asked.cpus is not None:
        limits["NanoCpus"] = int(asked.cpus * 10**9)
    if asked.memory_bytes is not None:
        limits["Memory"] = limits["MemorySwap"] = asked.memory_bytes
    if asked.gpus:
        limits["DeviceRequests"] = [{"Count": asked.gpus, "Capabilities": [["gpu"]]}]
    return limits


def why_not_running(name: str, about: Mapping[str, Any], last_lines: str = "") -> str | None:
    """What became of a container, by its inspection; None where it runs."""
    state = about["State"]
    if state["Running"] and not state.get("Paused"):
        return None
    if state["OOMKilled"]:
        limit = about["HostConfig"].get("Memory", 0) // 2**20
        reason = f"it ran out of memory (limit {limit} MB)" if limit else "it ran out of memory"
    elif state.get("Paused"):
        reason = "somebody paused it"
    else:
        reason = f"its first process ended with exit code {state['ExitCode']}"
        if state["ExitCode"] == 137:
            reason += " (killed, cause unknown)"
    told = "; ".join(part for part in (state.get("Error"), last_lines) if part)
    return f"container {name} is dead: {reason}" + (f": {told}" if told else "")
