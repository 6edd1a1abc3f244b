"""Makes a container and a session on it, or leaves none."""

import logging
from collections.abc import Sequence

import attrs
import trio

from agentcompass.deadlines import cleanup
from agentcompass.environments._docker_config import DockerConfig
from agentcompass.environments._docker_container import (
    Image,
    create_body,
    labels,
    user_of,
    workdir_of,
)
from agentcompass.environments._docker_end import remove_session
from agentcompass.environments._docker_engine import Engine
from agentcompass.environments._docker_exec import Runner
from agentcompass.environments._docker_files import Files
from agentcompass.environments._docker_helper import Helper
from agentcompass.environments._docker_keeper import program
from agentcompass.environments._docker_life import Life
from agentcompass.environments._docker_limits import limits_of, refuse
from agentcompass.environments._docker_network import Network, network_mode, resolvers_of
from agentcompass.environments._docker_session import DockerSession
from agentcompass.environments._docker_users import give_task_folders, ids_of
from agentcompass.errors import EnvironmentFailed
from agentcompass.protocols import SessionRequest

_BASH = ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash")
_SH = ("/bin/sh", "/usr/bin/sh")

log = logging.getLogger(__name__)


@attrs.frozen(eq=False, kw_only=True)
class Opening:
    """One container to be opened on a connected engine; its name is known before it is made."""

    engine: Engine
    name: str
    config: DockerConfig
    request: SessionRequest
    image: Image

    async def open(self) -> DockerSession:
        """The session; a container half made is gone when this raises or is cancelled."""
        session = None
        try:
            await self.request.resource.opened(
                {"container": self.name, "host": self.engine.endpoint.host}
            )
            session = await self._session(await self._start())
        finally:
            if session is None:
                with cleanup(self.request.cleanup):
                    await self._undo()
        return session

    async def _start(self) -> Life:
        limits = limits_of(self.config, self.request.plan.resources)
        refuse(limits, await self.engine.call("GET", "/info"))
        network = network_mode(self.request.plan.network_policy, self.config.network)
        body = create_body(self.config, self.request, self.image, network=network)
        query = {"name": self.name}
        if self.config.platform:
            query["platform"] = self.config.platform
        # Shielded: a container that is being created cannot be removed before it is there.
        with cleanup(self.request.cleanup):
            await self.engine.call("POST", "/containers/create", query=query, body=body)
        await trio.lowlevel.checkpoint()
        life = Life(engine=self.engine, name=self.name, program=program(self.image.architecture))
        await life.begin()
        if reason := await life.why_over():
            raise EnvironmentFailed(f"image {self.image.name!r} does not stay up: {reason}")
        return life

    async def _session(self, life: Life) -> DockerSession:
        user = user_of(self.config, self.request, self.image)
        files = Files(self.engine, self.name)
        files = attrs.evolve(files, owner=await ids_of(user, files))
        workdir = workdir_of(self.config, self.request, self.image)
        await files.make_folder(workdir)
        await give_task_folders(files)
        shell = await files.exists(*_SH)
        runner = self._runner(life, shell, user)
        plan = self.request.plan
        network = self._network(runner, await self._resolvers(files))
        await network.enforce(plan.network_policy)
        return DockerSession(
            engine=self.engine,
            name=self.name,
            workdir=workdir,
            env={**self.config.env, **plan.env_variables},
            program=await files.exists(*_BASH) or shell,
            image=self.image.name,
            built_context=self.image.built,
            runner=runner,
            files=files,
            network=network,
            resource=self.request.resource,
            keep=self.request.keep,
        )

    def _runner(self, life: Life, shell: str | None, user: str) -> Runner:
        return Runner(
            engine=self.engine,
            life=life,
            shell=shell,
            user=user,
            output_limit=self.config.output_limit_bytes,
            grace_seconds=self.config.kill_grace_seconds,
            cleanup=self.request.cleanup,
        )

    async def _resolvers(self, files: Files) -> Sequence[str]:
        """Asked for before a task runs, which could name others."""
        if self.config.dns:
            return self.config.dns
        try:
            return resolvers_of((await files.read("/etc/resolv.conf")).decode(errors="replace"))
        except FileNotFoundError:
            return ()

    def _network(self, runner: Runner, resolvers: Sequence[str]) -> Network:
        return Network(
            engine=self.engine,
            name=self.name,
            network=self.config.network,
            policy=self.request.plan.network_policy,
            resolvers=resolvers,
            helper=Helper(
                engine=self.engine,
                container=self.name,
                labels=labels(self.request),
                cleanup=self.request.cleanup,
            ),
            runner=runner,
        )

    async def _undo(self) -> None:
        try:
            await remove_session(self.engine, self.name)
        except EnvironmentFailed as error:
            log.warning("container %s may be left over: %s", self.name, error)
            await self.request.resource.release_failed(str(error))
        else:
            await self.request.resource.released()
        finally:
            await self.engine.aclose()
