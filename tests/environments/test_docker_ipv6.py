"""Policies on a network with IPv6, which passes where an address of it is allowed."""

import secrets
import time
from collections.abc import Iterator

import attrs
import pytest

from agentcompass.records.environment import NetworkPolicy
from tests.docker_engine import BOOKWORM, NO_ENGINE, docker, inspect
from tests.environments.docker_sessions import opened
from tests.processes import new_mark

pytestmark = [pytest.mark.docker, NO_ENGINE]

_SERVERS = """
import socket, threading
def serve(port):
    server = socket.create_server(("::", port), family=socket.AF_INET6)
    while True:
        made = server.accept()[0]
        print("tcp", port, flush=True)
        made.close()
def hear():
    server = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    server.bind(("::", 9000))
    while True:
        print("udp", server.recvfrom(99)[0], flush=True)
threading.Thread(target=hear).start()
threading.Thread(target=serve, args=(9001,)).start()
print("up", flush=True)
serve(9000)
"""
# Prints which ports of HOST took a connection, having sent it a packet as well.
_TRIES = """
import os, socket
host = os.environ["HOST"]
try:
    socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b"x", (host, 9000))
except OSError:
    pass
for port in (9000, 9001):
    try:
        socket.create_connection((host, port), timeout=0.5).close()
        print(port)
    except OSError:
        pass
"""


@attrs.frozen
class Peer:
    """A container that listens; `network` is the engine's network that both are on."""

    network: str
    name: str
    address: str

    def heard(self) -> list[str]:
        return docker("logs", self.name).splitlines()[1:]


@pytest.fixture(scope="module")
def peer() -> Iterator[Peer]:
    name = f"six-{new_mark()}"
    subnet = f"fd{secrets.token_hex(1)}:{secrets.token_hex(2)}:{secrets.token_hex(2)}::/64"
    docker("network", "create", "--ipv6", "--subnet", subnet, name)
    try:
        server = ("--name", name, "--network", name, BOOKWORM, "python3", "-c", _SERVERS)
        docker("run", "--detach", *server)
        while "up" not in docker("logs", name):
            time.sleep(0.05)
        about = inspect(name)["NetworkSettings"]["Networks"][name]
        yield Peer(name, name, about["GlobalIPv6Address"])
    finally:
        docker("rm", "--force", name)
        docker("network", "rm", name)


def allow(*hosts: str) -> NetworkPolicy:
    return NetworkPolicy(network_mode="allowlist", allowed_hosts=hosts)


async def test_ipv6_passes_where_a_policy_names_it_and_else_nowhere(peer):
    """Fails for the allowed ones where neighbours cannot be found."""
    first = allow(f"[{peer.address}]:9001")
    policies = [
        (first, ["9001"]),
        (NetworkPolicy(), ["9000", "9001"]),
        (NetworkPolicy(network_mode="no-network"), []),
        (allow(peer.address), ["9000", "9001"]),
        (allow("*.example.test", "0.0.0.0/0", "2001:db8::/32"), []),
    ]
    config = {"network": peer.network, "dns": ("192.0.2.53",)}
    async with opened(config=config, network_policy=first) as session:
        for policy, expected in policies:
            before = len(peer.heard())
            await session.set_network_policy(policy)
            told = await session.exec(["python3", "-c", _TRIES], env={"HOST": peer.address})
            heard = sorted(peer.heard()[before:])  # each port has a thread of its own

            assert told.stdout.split() == expected, policy
            assert [line for line in heard if "tcp" in line] == [f"tcp {port}" for port in expected]
            assert any("udp" in line for line in heard) is ("9000" in expected), policy
