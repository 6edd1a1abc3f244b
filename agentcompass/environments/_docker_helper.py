"""The helper container, which alone has the right to set rules for the network of another."""

import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import attrs

from agentcompass.deadlines import CleanupClock, cleanup
from agentcompass.environments import _docker_allowlist as allowlist
from agentcompass.environments._docker_container import HELPER
from agentcompass.environments._docker_end import remove_container
from agentcompass.environments._docker_engine import Engine, EngineRefused
from agentcompass.environments._docker_files import Files
from agentcompass.environments._docker_frames import STDERR, STDOUT, Frames
from agentcompass.errors import EnvironmentFailed

HELPER_IMAGE = "agentcompass-network:2"

_READY = b"ready\n"
_APPLY = ("sh", "-c", 'printf %s "$RULES" | nft -f - && echo ready')
_FOLDER = "/filter"
_MODULES = ("_filter_main", "_filter_dns", "_filter_hello")
_SERVE = ("python3", "-m", "agentcompass.environments._filter_main")

log = logging.getLogger(__name__)


@attrs.define(eq=False, kw_only=True)
class Helper:
    """The helper of container `container`, in whose network namespace it is."""

    engine: Engine
    container: str
    labels: Mapping[str, str]
    cleanup: CleanupClock
    _stays: bool = attrs.field(default=False, init=False)

    @property
    def _name(self) -> str:
        return self.container + HELPER

    async def apply(self, rules: str) -> None:
        """Set rules, and be gone."""
        await self.end()
        try:
            await self._start(_APPLY, {"RULES": rules})
        finally:
            with cleanup(self.cleanup):
                await remove_container(self.engine, self._name)

    async def serve(
        self,
        rules: str,
        *,
        patterns: Sequence[Any],
        hosts: Mapping[str, Sequence[str]],
        resolvers: Sequence[str],
    ) -> None:
        """Set rules, and stay to let through what they redirect; `end` is the caller's."""
        await self.end()
        told = {
            "patterns": patterns,
            "hosts": hosts,
            "resolvers": resolvers,
            "mark": allowlist.MARK,
        }
        self._stays = True
        await self._start(_SERVE, {"RULES": rules, "FILTER": json.dumps(told)}, _MODULES)

    async def end(self) -> None:
        """Remove a helper that stayed; its rules go on, so that nothing is redirected anywhere."""
        if self._stays:
            await remove_container(self.engine, self._name)
            self._stays = False

    async def _start(
        self, command: Sequence[str], env: Mapping[str, str], modules: Sequence[str] = ()
    ) -> None:
        body = {
            "Image": HELPER_IMAGE,
            "Cmd": command,
            "Env": [f"{name}={value}" for name, value in env.items()],
            "WorkingDir": _FOLDER,
            "Labels": self.labels,
            "HostConfig": {
                "NetworkMode": f"container:{self.container}",
                "CapDrop": ["ALL"],
                "CapAdd": ["NET_ADMIN"],
                "SecurityOpt": ["no-new-privileges"],
                "LogConfig": {"Type": "json-file"},
            },
        }
        query = {"name": self._name}
        try:
            # Shielded: a container that is being created cannot be removed before it is there.
            with cleanup(self.cleanup):
                await self.engine.call("POST", "/containers/create", query=query, body=body)
            files = Files(self.engine, self._name)
            for module in modules:
                code = Path(__file__).with_name(f"{module}.py").read_bytes()
                await files.write(f"{_FOLDER}/agentcompass/environments/{module}.py", code, 0o444)
            await self.engine.call("POST", f"/containers/{self._name}/start")
        except EngineRefused as error:
            raise EnvironmentFailed(f"the helper of network mode allowlist: {error}") from error
        await self._wait_ready()

    async def _wait_ready(self) -> None:
        said, complaints = bytearray(), bytearray()
        frames = Frames({STDOUT: said.extend, STDERR: complaints.extend})
        query = {"follow": "1", "stdout": "1", "stderr": "1"}
        path = f"/containers/{self._name}/logs"
        async with self.engine.stream("GET", path, query=query) as response:
            async with aclosing(self.engine.pieces(response)) as pieces:
                async for piece in pieces:
                    frames.feed(piece)
                    if said == _READY:
                        return
        log.warning(
            "the helper of %s says: %s", self.container, complaints.decode(errors="replace")
        )
        raise EnvironmentFailed("the rules of network mode allowlist cannot be set")
