"""Which network a container is on: its policy, enforced by what it is connected to."""

import attrs

from agentcompass.environments._docker_engine import Engine
from agentcompass.errors import EnvironmentFailed
from agentcompass.records.environment import NetworkPolicy

_WIDTH = {"no-network": 0, "allowlist": 1, "public": 2}


def network_mode(policy: NetworkPolicy, network: str) -> str:
    """What a container is created on under `policy`."""
    if policy.network_mode not in _WIDTH:
        raise EnvironmentFailed(f"docker cannot enforce network mode {policy.network_mode!r}")
    return network if policy.network_mode == "public" else "none"


@attrs.define(eq=False, kw_only=True)
class Network:
    """The network of container `name` under `policy`; `network` is the one of the engine's."""

    engine: Engine
    name: str
    network: str
    policy: NetworkPolicy

    def widens(self, policy: NetworkPolicy) -> bool:
        """Whether `policy` may let somebody be reached who could not be until now."""
        before, after = _WIDTH[self.policy.network_mode], _WIDTH.get(policy.network_mode, 0)
        return after > before or (after == before == 1 and policy != self.policy)

    async def enforce(self, policy: NetworkPolicy) -> None:
        """Connect or disconnect, also for processes that already run."""
        mode, before = network_mode(policy, self.network), network_mode(self.policy, self.network)
        if mode != before:
            await self._connection("disconnect", before, Force=True)
            await self._connection("connect", mode)
        self.policy = policy

    async def _connection(self, what: str, network: str, **options: object) -> None:
        body = {"Container": self.name, **options}
        await self.engine.call("POST", f"/networks/{network}/{what}", body=body)
