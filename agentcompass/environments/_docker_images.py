"""Images through the docker SDK, in worker threads: found, pulled with credentials, or built."""

import hashlib
import logging
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import attrs
import docker
import requests.exceptions
import trio
from docker.errors import BuildError, DockerException, ImageNotFound
from trio.from_thread import check_cancelled

from agentcompass.environments._docker_config import DockerConfig
from agentcompass.environments._docker_container import Image
from agentcompass.errors import EnvironmentFailed
from agentcompass.records.environment import EnvironmentSetup

T = TypeVar("T")

BUILT = "agentcompass-build"
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
        digest = await self._in_thread(_digest, folder, self.config)
        name = f"{BUILT}:{digest}"
        async with self._locks[name]:
            found = await self._in_thread(self._find, name)
            if found is None:
                log.info("building an image from %s", folder)
                found = await self._in_thread(self._build, name, folder, seconds)
                log.info("built %s from %s", name, folder)
        return attrs.evolve(found, built=True)

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
                    raise EnvironmentFailed(f"{what}: {line['error']}")
                log.debug("pull of %s: %s %s", name, line.get("status"), line.get("progress", ""))
            return _image(name, client.images.get(name).attrs)

    def _build(self, name: str, folder: Path, seconds: float | None) -> Image:
        what = f"{folder / self.config.dockerfile} cannot be built"
        with _client(what) as client:
            try:
                image, _ = client.images.build(
                    path=str(folder),
                    dockerfile=self.config.dockerfile,
                    tag=name,
                    rm=True,
                    forcerm=True,
                    platform=self.config.platform,
                    labels={BUILT: "1"},
                    timeout=None if seconds is None else int(seconds),
                )
            except BuildError as error:
                raise EnvironmentFailed(f"{what}: {_last_words(error)}") from error
            return _image(name, image.attrs)


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
        raise EnvironmentFailed(f"{what}: {' '.join(str(reason).split())}") from error


def _image(name: str, attributes: Mapping[str, Any]) -> Image:
    config = attributes.get("Config") or {}
    return Image(name=name, user=config.get("User") or "", workdir=config.get("WorkingDir") or "")


def _with_tag(name: str) -> str:
    last = name.rpartition("/")[2]
    return name if ":" in last or "@" in last else f"{name}:latest"


def _last_words(error: BuildError) -> str:
    lines = [str(line["stream"]).strip() for line in error.build_log if line.get("stream")]
    return "; ".join([*filter(None, lines[-3:]), str(error.msg).strip()])


def _digest(folder: Path, config: DockerConfig) -> str:
    """What an image built from `folder` depends on, as far as it is here."""
    found = hashlib.sha256(f"{config.dockerfile}\0{config.platform}".encode())
    for path in sorted(folder.rglob("*")):
        found.update(
            f"\0{path.relative_to(folder)}\0{path.lstat().st_mode}\0".encode(
                errors="surrogateescape"
            )
        )
        if path.is_symlink():
            found.update(os.fsencode(path.readlink()))
        elif path.is_file():
            found.update(path.read_bytes())
    return found.hexdigest()[:16]
