"""Environment `docker`: each session is a container of a Docker Engine."""

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Any, ClassVar

import attrs
import trio

from agentcompass.environments._docker_allowlist import parse
from agentcompass.environments._docker_config import DockerConfig
from agentcompass.environments._docker_connect import endpoint
from agentcompass.environments._docker_container import PREFIX
from agentcompass.environments._docker_end import remove_session
from agentcompass.environments._docker_engine import Engine, EngineRefused, EngineSilent
from agentcompass.environments._docker_helper import HELPER_IMAGE
from agentcompass.environments._docker_images import Images
from agentcompass.environments._docker_left import labelled
from agentcompass.environments._docker_limits import limits_of, refuse
from agentcompass.environments._docker_open import Opening
from agentcompass.environments._docker_session import DockerSession
from agentcompass.errors import EnvironmentFailed, UsageError
from agentcompass.protocols import Capabilities, SessionRequest
from agentcompass.records.environment import NetworkPolicy, Resources
from agentcompass.records.request import EnvironmentSpec

# How long an engine may take to answer at all, where a person waits for it.
_ANSWER_SECONDS = 10.0
_SCRIPT = Path(__file__).with_name("docker_network_image.sh")


class Docker:
    """Opens sessions that are containers, made from an image or from a task's Dockerfile."""

    id: ClassVar[str] = "docker"
    description: ClassVar[str] = "containers of a Docker Engine, one for each session"
    Config: ClassVar[type[Any]] = DockerConfig
    capabilities = Capabilities(
        network_modes=frozenset({"public", "no-network", "allowlist"}),
        switches_network=True,
        gives=frozenset(
            {"image", "build_context", "build_timeout_seconds", "workdir", "user", "os"}
            | {"cpu", "memory_mb", "gpu"}
        ),
        ignores=frozenset({"storage_mb", "gpu_type"}),
    )

    def __init__(self, config: DockerConfig) -> None:
        self.config = config
        self.sandbox_start_timeout: float | None = config.sandbox_start_timeout or None
        self.operation_timeout: float | None = config.operation_timeout or None
        self._images = Images(config)
        self._has_helper = False

    async def preflight(self) -> None:
        """Raise `UsageError` where no engine answers, or not to this user, or where `mounts` name
        what is not there: an engine would make an empty folder or a volume of it."""
        where = await trio.to_thread.run_sync(endpoint, os.environ)
        await trio.to_thread.run_sync(_check_mounts, self.config.mounts, where.socket is not None)
        try:
            async with Engine(where, _ANSWER_SECONDS) as engine:
                self._has_helper = await _has_image(engine, HELPER_IMAGE)
        except EngineSilent as error:
            raise UsageError(_remedy(where.host, error)) from error
        except EnvironmentFailed as error:
            raise UsageError(str(error)) from error
        if not self._has_helper:
            # A plan that needs it is refused before its task begins.
            modes = self.capabilities.network_modes - {"allowlist"}
            self.capabilities = attrs.evolve(self.capabilities, network_modes=modes)

    async def check(self, wish: EnvironmentSpec) -> None:
        """Raise `UsageError` for an image that can neither be found nor pulled, for limits that
        the engine cannot give, and for an allowlist that cannot be enforced."""
        await self._check_limits(wish)
        policies = (wish.network_policy, wish.run_network_policy, wish.verifier_network_policy)
        for policy in filter(None, policies):
            if policy.network_mode == "allowlist":
                self._check_allowlist(policy)
        for setup in filter(None, (wish.setup, wish.evaluation_setup)):
            if setup.image is not None:
                try:
                    await self._images.named(setup.image)
                except EnvironmentFailed as error:
                    raise UsageError(f"--env-params: {error}") from error

    async def _check_limits(self, wish: EnvironmentSpec) -> None:
        where = await trio.to_thread.run_sync(endpoint, os.environ)
        try:
            async with Engine(where, _ANSWER_SECONDS) as engine:
                about = await engine.call("GET", "/info")
            for resources in (wish.resources, wish.evaluation_resources):
                refuse(limits_of(self.config, resources or Resources()), about)
        except EnvironmentFailed as error:
            raise UsageError(f"--env-params: {error}") from error

    def _check_allowlist(self, policy: NetworkPolicy) -> None:
        if not self._has_helper:
            raise UsageError(
                f"--env-params: network mode allowlist needs the image {HELPER_IMAGE}, which"
                f" `sh {_SCRIPT}` builds on the Docker Engine"
            )
        try:
            parse(policy.allowed_hosts)
        except EnvironmentFailed as error:
            raise UsageError(f"--env-params: {error}") from error

    def running(self, *, keep: bool) -> AbstractAsyncContextManager[None]:
        """Needs nothing beside its sessions."""
        return nullcontext()

    async def open(self, request: SessionRequest) -> DockerSession:
        """Bring in the image, then make and start a container; none is left of a failure."""
        if request.plan.setup.os not in (None, "linux"):
            raise EnvironmentFailed(f"docker gives linux, not {request.plan.setup.os!r}")
        image = await self._images.ready(request.plan.setup)
        where = await trio.to_thread.run_sync(endpoint, os.environ)
        engine = Engine(where)
        await engine.connect()
        opening = Opening(
            engine=engine,
            name=PREFIX + request.resource.id,
            config=self.config,
            request=request,
            image=image,
        )
        return await opening.open()

    async def left_over(self) -> Sequence[Mapping[str, Any]]:
        """Every container of this package on the engine, by its labels, whoever made it."""
        where = await trio.to_thread.run_sync(endpoint, os.environ)
        async with Engine(where, _ANSWER_SECONDS) as engine:
            return await labelled(engine, where.host)

    async def close_resource(self, close_params: Mapping[str, Any]) -> None:
        """Remove a container, on the engine where it was made."""
        name, host = close_params.get("container"), close_params.get("host")
        if not isinstance(name, str) or not name.startswith(PREFIX):
            raise EnvironmentFailed(f"{name!r} is not the name of a container of this package")
        environ = {**os.environ, **({"DOCKER_HOST": host} if isinstance(host, str) else {})}
        where = await trio.to_thread.run_sync(endpoint, environ)
        async with Engine(where, _ANSWER_SECONDS) as engine:
            await remove_session(engine, name)


async def _has_image(engine: Engine, name: str) -> bool:
    try:
        await engine.call("GET", f"/images/{name}/json")
    except EngineRefused as error:
        if error.status == 404:
            return False
        raise
    return True


def _check_mounts(mounts: Sequence[str], is_here: bool) -> None:
    for mount in mounts:
        path = Path(mount.partition(":")[0])
        if not path.is_absolute():
            raise UsageError(f"--env-params: mounts: {str(path)!r} is not an absolute path")
        if is_here and not path.exists():
            raise UsageError(f"--env-params: mounts: {str(path)!r} does not exist on this host")


def _remedy(host: str, error: EngineSilent) -> str:
    if "Permission denied" in str(error):
        return (
            f"environment docker: you may not use the Docker Engine at {host}; join the group"
            " docker (`sudo usermod -aG docker $USER`, then log in again), or name another engine"
            " by DOCKER_HOST"
        )
    if "SSL" in str(error):
        return (
            f"environment docker: {error}; check DOCKER_TLS_VERIFY and DOCKER_CERT_PATH: TLS is"
            " spoken where one of them is set"
        )
    return (
        f"environment docker: {error}; start it (`sudo systemctl start docker`), or name another"
        " engine by DOCKER_HOST"
    )
