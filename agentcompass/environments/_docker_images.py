"""Images: found and pulled through the docker SDK, in worker threads, or built."""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import attrs
import docker
import requests.exceptions
import trio
from docker.errors import DockerException, ImageNotFound
from trio.from_thread import check_cancelled

from agentcompass.environments._docker_build import BUILT, Build
from agentcompass.environments._docker_config import DockerConfig
from agentcompass.environments._docker_container import Image
from agentcompass.environments._docker_context import Context, read_context
from agentcompass.environments._docker_said import one_line
from agentcompass.errors import EnvironmentFailed
from agentcompass.records.environment import EnvironmentSetup

T = TypeVar("T")

# Calls of the SDK at the same time; pulls and builds are the engine's work.
_THREADS = 8
_SILENT_SECONDS = 3600
_FAULTS = (DockerException, requests.exceptions.RequestException)

log = logging.getLogger(__name__)


@attrs.define(eq=False)
class Images:
    """The images of an engine; each is brought in once at a time, whoever asks."""

    config: DockerConfig
    _limiter: trio.CapacityLimiter = attrs.field(
        factory=lambda: trio.CapacityLimiter(_THREADS), init=False
    )
    _locks: dict[str, trio.Lock] = attrs.field(factory=lambda: defaultdict(trio.Lock), init=False)
    _pulled: set[str] = attrs.field(factory=set, init=False)

    async def ready(self, setup: EnvironmentSetup) -> Image:
        """The image that is named, or else built from `build_context`; pulled where need be.

        Raises `EnvironmentFailed` in one line with the remedy.
        """
        if setup.image is not None:
            return await self.named(setup.image)
        if setup.build_context is None:
            raise EnvironmentFailed(
                "the task names no image and has no environment/Dockerfile; give one with"
                """ --env-params '{"image": "NAME"}'"""
            )
        return await self._built(Path(setup.build_context), setup.build_timeout_seconds)

    async def named(self, name: str) -> Image:
        """The image `name`, pulled by the policy of the parameters."""
        async with self._locks[name]:
            found = await self._in_thread(self._find, name)
            wanted = self.config.pull == "always" and name not in self._pulled
            if found is None or wanted:
                if self.config.pull == "never":
                    raise EnvironmentFailed(
                        f"image {name!r} is not on the Docker Engine, and pull is never: pull or"
                        " build it, or leave the parameter pull out"
                    )
                log.info("pulling image %s", name)
                found = await self._in_thread(self._pull, name)
                log.info("pulled image %s", name)
                self._pulled.add(name)
        return found

    async def _built(self, folder: Path, seconds: float | None) -> Image:
        context = await self._in_thread(self._read, folder)
        name = f"{BUILT}:{context.digest}"
        async with self._locks[name]:
            found = await self._in_thread(self._find, name)
            if found is None:
                found = await self._build(name, context, seconds)
        return attrs.evolve(found, built=True)

    async def _build(self, name: str, context: Context, seconds: float | None) -> Image:
        build = Build(
            name=name,
            context=context,
            dockerfile=self.config.dockerfile,
            platform=self.config.platform,
        )
        async with self._limiter:
            log.info("building an image from %s", context.folder)
            await build.run(seconds)
        log.info("built %s from %s", name, context.folder)
        found = await self._in_thread(self._find, name)
        if found is None:
            raise EnvironmentFailed(f"{name}, which was built, is no longer on the Docker Engine")
        return found

    async def _in_thread(self, work: Callable[..., T], *args: Any) -> T:
        # Given up on cancellation: what a thread waits for is the engine's.
        return await trio.to_thread.run_sync(
            work, *args, limiter=self._limiter, abandon_on_cancel=True
        )

    def _find(self, name: str) -> Image | None:
        with _client(f"image {name!r} cannot be looked for") as client:
            try:
                return _image(name, client.images.get(name).attrs)
            except ImageNotFound:
                return None

    def _pull(self, name: str) -> Image:
        what = (
            f"image {name!r} is not on the Docker Engine and cannot be pulled; check the name,"
            " `docker login`, or build it"
        )
        repository, _, tag = _with_tag(name).rpartition(":" if "@" not in name else "@")
        with _client(what) as client:
            for line in client.api.pull(
                repository, tag=tag, stream=True, decode=True, platform=self.config.platform
            ):
                check_cancelled()
                if "error" in line:
                    raise EnvironmentFailed(f"{what}: {one_line(line['error'])}")
                log.debug("pull of %s: %s %s", name, line.get("status"), line.get("progress", ""))
            return _image(name, client.images.get(name).attrs)

    def _read(self, folder: Path) -> Context:
        try:
            return read_context(
                folder,
                self.config.dockerfile,
                salt=str(self.config.platform),
                check=check_cancelled,
            )
        except (OSError, UnicodeDecodeError) as error:
            raise EnvironmentFailed(f"{folder} cannot be built: {error}") from error


@contextmanager
def _client(what: str) -> Iterator[docker.DockerClient]:
    """A client by the variables of this process; a fault of it becomes `EnvironmentFailed`."""
    try:
        client = docker.from_env(timeout=_SILENT_SECONDS)
        try:
            yield client
        finally:
            client.close()
    except _FAULTS as error:
        reason = getattr(error, "explanation", None) or str(error)
        raise EnvironmentFailed(f"{what}: {one_line(str(reason))}") from error


def _image(name: str, attributes: Mapping[str, Any]) -> Image:
    config = attributes.get("Config") or {}
    return Image(
        name=name,
        user=config.get("User") or "",
        workdir=config.get("WorkingDir") or "",
        architecture=attributes.get("Architecture") or "",
    )


def _with_tag(name: str) -> str:
    last = name.rpartition("/")[2]
    return name if ":" in last or "@" in last else f"{name}:latest"
