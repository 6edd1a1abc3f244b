"""Which network a container is on: its policy, enforced by connections and by rules inside."""

import socket
from collections.abc import Sequence

import attrs
import trio

from agentcompass.environments import _docker_allowlist as allowlist
from agentcompass.environments._docker_engine import Engine
from agentcompass.environments._docker_exec import Runner
from agentcompass.environments._docker_helper import Helper
from agentcompass.errors import EnvironmentFailed
from agentcompass.records.environment import NetworkPolicy

_WIDTH = {"no-network": 0, "allowlist": 1, "public": 2}
_SET_HOSTS = """
kept=$(while IFS= read -r line; do
    case $line in *"# agentcompass") ;; *) printf '%s\\n' "$line" ;; esac
done </etc/hosts) && printf '%s\\n%s' "$kept" "$1" >/etc/hosts
"""


def network_mode(policy: NetworkPolicy, network: str) -> str:
    """What a container is created on under `policy`: what has to have rules first, on none."""
    if policy.network_mode not in _WIDTH:
        raise EnvironmentFailed(f"docker cannot enforce network mode {policy.network_mode!r}")
    if policy.network_mode == "public":
        return network
    # There the namespace is not the container's own, and rules in it would bind others.
    if network == "host" or network.startswith("container:"):
        raise EnvironmentFailed(
            f"network mode {policy.network_mode!r} cannot be enforced on network {network!r}"
        )
    return "none"


@attrs.define(eq=False, kw_only=True)
class Network:
    """The network of container `name`, which was created under `policy`.

    `network` is the engine's network for what may reach anybody, `resolvers` are who is asked for
    hosts by pattern, and `helper` puts rules into the container's network namespace.
    """

    engine: Engine
    name: str
    network: str
    policy: NetworkPolicy
    resolvers: Sequence[str]
    helper: Helper
    runner: Runner
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
            await self.helper.end()
        elif policy.network_mode == "allowlist":
            await self._allow(allowlist.parse(policy.allowed_hosts))
            await self._connect(self.network)
        else:
            if self._has_rules:
                await self.helper.apply(allowlist.NO_RULES)
                await self._set_hosts("")
                self._has_rules = False
            await self._connect(self.network)
        self.policy = policy

    async def _allow(self, entries: Sequence[allowlist.Allowed]) -> None:
        addresses = {entry.name: await _addresses(entry.name) for entry in entries if entry.name}
        rules, patterns = allowlist.rules(entries, addresses), allowlist.patterns(entries)
        if patterns and not self.resolvers:
            raise EnvironmentFailed(
                f"allowed_hosts: *.{patterns[0][0]} needs a DNS server: name it in parameter dns"
            )
        self._has_rules = True
        if patterns:
            await self.helper.serve(
                rules, patterns=patterns, hosts=addresses, resolvers=self.resolvers
            )
        else:
            await self.helper.apply(rules)
        await self._set_hosts(allowlist.hosts_lines(addresses))

    async def _set_hosts(self, lines: str) -> None:
        if not await self.runner.script(_SET_HOSTS, lines) and lines:
            raise EnvironmentFailed("the names of an allowlist cannot be put into /etc/hosts")

    async def _connect(self, network: str) -> None:
        if network != self._connected_to:
            body = {"Container": self.name}
            path = f"/networks/{self._connected_to}/disconnect"
            await self.engine.call("POST", path, body={**body, "Force": True})
            await self.engine.call("POST", f"/networks/{network}/connect", body=body)
            self._connected_to = network


def resolvers_of(resolv_conf: str) -> list[str]:
    """Who can be asked from a container, by its resolv.conf(5): not Docker's own resolver."""
    lines = [line.split() for line in resolv_conf.splitlines()]
    named = [line[1] for line in lines if len(line) > 1 and line[0] == "nameserver"]
    return [one for one in named if ":" not in one and not one.startswith("127.")]


async def _addresses(name: str) -> list[str]:
    try:
        found = await trio.socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise EnvironmentFailed(f"allowed_hosts: {name!r} has no address: {error}") from error
    return sorted({str(address[0]) for *_, address in found})
