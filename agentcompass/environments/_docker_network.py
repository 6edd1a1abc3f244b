"""Which network a container is on: its policy, enforced by connections and by rules inside."""

import socket
from collections.abc import Mapping, Sequence

import attrs
import trio

from agentcompass.deadlines import CleanupClock, cleanup
from agentcompass.environments import _docker_allowlist as allowlist
from agentcompass.environments._docker_end import remove_container
from agentcompass.environments._docker_engine import Engine, EngineRefused
from agentcompass.environments._docker_exec import Runner
from agentcompass.errors import EnvironmentFailed
from agentcompass.records.environment import NetworkPolicy

HELPER_IMAGE = "agentcompass-network:1"

_WIDTH = {"no-network": 0, "allowlist": 1, "public": 2}
_APPLY = 'printf %s "$RULES" | nft -f -'
_SET_HOSTS = """
kept=$(while IFS= read -r line; do
    case $line in *"# agentcompass") ;; *) printf '%s\\n' "$line" ;; esac
done </etc/hosts) && printf '%s\\n%s' "$kept" "$1" >/etc/hosts
"""


def network_mode(policy: NetworkPolicy, network: str) -> str:
    """What a container is created on under `policy`: what has to have rules first, on none."""
    if policy.network_mode not in _WIDTH:
        raise EnvironmentFailed(f"docker cannot enforce network mode {policy.network_mode!r}")
    return network if policy.network_mode == "public" else "none"


@attrs.define(eq=False, kw_only=True)
class Network:
    """The network of container `name`, which was created under `policy`.

    `network` is the engine's network for what may reach anybody. Rules are put into the
    container's network namespace by a helper container that alone has the right to.
    """

    engine: Engine
    name: str
    network: str
    policy: NetworkPolicy
    labels: Mapping[str, str]
    runner: Runner
    cleanup: CleanupClock
    _connected_to: str = attrs.field(init=False)
    _has_rules: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._connected_to = network_mode(self.policy, self.network)

    def widens(self, policy: NetworkPolicy) -> bool:
        """Whether `policy` may let somebody be reached who could not be until now."""
        before, after = _WIDTH[self.policy.network_mode], _WIDTH.get(policy.network_mode, 0)
        return after > before or (after == before == 1 and policy != self.policy)

    async def enforce(self, policy: NetworkPolicy) -> None:
        """Enforce `policy` from now on, also for processes that already run.

        Rules are there before a connection is, and outlast one that is to end.
        """
        network_mode(policy, self.network)
        if policy.network_mode == "no-network":
            await self._connect("none")
        elif policy.network_mode == "allowlist":
            await self._allow(allowlist.parse(policy.allowed_hosts))
            await self._connect(self.network)
        else:
            if self._has_rules:
                await self._apply(allowlist.NO_RULES, "")
                self._has_rules = False
            await self._connect(self.network)
        self.policy = policy

    async def _allow(self, entries: Sequence[allowlist.Allowed]) -> None:
        addresses = {entry.name: await _addresses(entry.name) for entry in entries if entry.name}
        self._has_rules = True
        await self._apply(allowlist.rules(entries, addresses), allowlist.hosts_lines(addresses))

    async def _apply(self, rules: str, hosts: str) -> None:
        await self._helper(rules)
        if not await self.runner.script(_SET_HOSTS, hosts) and hosts:
            raise EnvironmentFailed("the names of an allowlist cannot be put into /etc/hosts")

    async def _connect(self, network: str) -> None:
        if network != self._connected_to:
            body = {"Container": self.name}
            path = f"/networks/{self._connected_to}/disconnect"
            await self.engine.call("POST", path, body={**body, "Force": True})
            await self.engine.call("POST", f"/networks/{network}/connect", body=body)
            self._connected_to = network

    async def _helper(self, rules: str) -> None:
        name = f"{self.name}-network"
        body = {
            "Image": HELPER_IMAGE,
            "Cmd": ["sh", "-c", _APPLY],
            "Env": [f"RULES={rules}"],
            "Labels": self.labels,
            "HostConfig": {
                "NetworkMode": f"container:{self.name}",
                "CapDrop": ["ALL"],
                "CapAdd": ["NET_ADMIN"],
            },
        }
        try:
            with cleanup(self.cleanup):
                await self.engine.call(
                    "POST", "/containers/create", query={"name": name}, body=body
                )
            await self.engine.call("POST", f"/containers/{name}/start")
            ended = await self.engine.call("POST", f"/containers/{name}/wait")
        except EngineRefused as error:
            raise EnvironmentFailed(f"the helper of network mode allowlist: {error}") from error
        finally:
            with cleanup(self.cleanup):
                await remove_container(self.engine, name)
        if ended["StatusCode"]:
            raise EnvironmentFailed("the rules of network mode allowlist cannot be set")


async def _addresses(name: str) -> list[str]:
    try:
        found = await trio.socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise EnvironmentFailed(f"allowed_hosts: {name!r} has no address: {error}") from error
    return sorted({str(address[0]) for *_, address in found})
