"""Network policies hold against whatever a process tries: a server here hears nothing of it."""

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_network

import attrs
import pytest
import trio

from agentcompass.errors import EnvironmentFailed
from agentcompass.records.environment import NetworkPolicy
from tests.docker_engine import NO_ENGINE, docker
from tests.environments.docker_sessions import opened
from tests.processes import alive, new_mark, wait_for_alive

pytestmark = [pytest.mark.docker, NO_ENGINE]

NO_NETWORK = NetworkPolicy(network_mode="no-network")

# Tries TCP, UDP, raw packets and a name, each in its way past a policy.
TRIES = """
import os, socket
host, port = os.environ["HOST"], int(os.environ["PORT"])
def attempt(name, work):
    try:
        print(name, work() or "sent")
    except OSError as error:
        print(name, "failed", type(error).__name__)
def tcp():
    with socket.create_connection((host, port), timeout=1) as made:
        made.sendall(b"tcp")
def udp():
    with socket.socket(type=socket.SOCK_DGRAM) as made:
        made.sendto(b"udp", (host, port))
def raw():
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
def packet():
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
def dns():
    return socket.gethostbyname("deb.debian.org")
for work in (tcp, udp, raw, packet, dns):
    attempt(work.__name__, work)
"""
# Goes on talking over one connection, and by single packets.
CHATTER = """
import os, socket, time
host, port = os.environ["HOST"], int(os.environ["PORT"])
made = None
while True:
    try:
        made = made or socket.create_connection((host, port), timeout=1)
        made.sendall(b"tcp")
    except OSError:
        made = None
    try:
        socket.socket(type=socket.SOCK_DGRAM).sendto(b"udp", (host, port))
    except OSError:
        pass
    time.sleep(0.05)
"""


@attrs.define(eq=False)
class Listener:
    """A TCP and a UDP server on this host, as the bridge sees it, and all that they heard."""

    host: str
    port: int = 0
    heard: list[bytes] = attrs.field(factory=list)
    _open: list[socket.socket] = attrs.field(factory=list)

    def start(self) -> None:
        tcp = socket.create_server((self.host, 0))
        self.port = tcp.getsockname()[1]
        udp = socket.socket(type=socket.SOCK_DGRAM)
        udp.bind((self.host, self.port))
        self._open += [tcp, udp]
        for work in (lambda: self._accept(tcp), lambda: self._hear(udp)):
            threading.Thread(target=work, daemon=True).start()

    def stop(self) -> None:
        for made in self._open:
            with suppress(OSError):
                made.shutdown(socket.SHUT_RDWR)
            made.close()

    def variables(self) -> dict[str, str]:
        return {"HOST": self.host, "PORT": str(self.port)}

    def _accept(self, server: socket.socket) -> None:
        try:
            while True:
                made, _ = server.accept()
                self.heard.append(b"connected")
                self._open.append(made)
                threading.Thread(target=self._hear, args=(made,), daemon=True).start()
        except OSError:
            pass

    def _hear(self, made: socket.socket) -> None:
        try:
            while data := made.recv(1000):
                self.heard.append(data)
        except OSError:
            pass


@pytest.fixture
def listener() -> Iterator[Listener]:
    subnet = docker("network", "inspect", "bridge", "--format", "{{(index .IPAM.Config 0).Subnet}}")
    gateway = str(next(ip_network(subnet).hosts()))
    made = Listener(gateway)
    made.start()
    yield made
    made.stop()


def allow(*hosts: str) -> NetworkPolicy:
    return NetworkPolicy(network_mode="allowlist", allowed_hosts=hosts)


async def tries(session, listener: Listener) -> str:
    done = await session.exec(["python3", "-c", TRIES], env=listener.variables())
    assert done.ok, done.stderr
    return done.stdout


async def test_without_a_policy_everything_arrives(listener):
    """The tries are real: what the other tests do not hear would be heard; but raw packets, which
    rules could not hold, are nobody's."""
    async with opened() as session:
        told = await tries(session, listener)

    assert "tcp sent" in told
    assert {b"tcp", b"udp"} <= set(listener.heard)
    assert "raw failed PermissionError" in told
    assert "packet failed PermissionError" in told


async def test_no_network_lets_nothing_through(listener):
    async with opened(network_policy=NO_NETWORK) as session:
        told = await tries(session, listener)

    assert "tcp failed" in told
    assert "dns failed" in told
    assert listener.heard == []


async def test_an_allowlist_lets_through_what_it_names_and_nothing_else(listener):
    other = Listener(listener.host)
    other.start()
    policy = allow(f"{listener.host}:{listener.port}", "192.0.2.0/24")
    async with opened(network_policy=policy) as session:
        told = await tries(session, listener)
        told_of_other = await tries(session, other)
    other.stop()

    assert "tcp sent" in told
    assert {b"tcp", b"udp"} <= set(listener.heard)
    assert "tcp failed" in told_of_other
    assert "dns failed" in told_of_other
    assert other.heard == []


class Names(trio.abc.HostnameResolver):
    """Knows one host: this one, as the bridge sees it."""

    def __init__(self, address: str) -> None:
        self.address = address

    async def getaddrinfo(self, host, *_):
        assert host == b"model.test"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (self.address, 0))]

    async def getnameinfo(self, sockaddr, flags):
        raise NotImplementedError


async def test_an_allowed_name_is_found_and_reached_without_a_resolver(listener):
    trio.socket.set_custom_hostname_resolver(Names(listener.host))
    async with opened(network_policy=allow("Model.test")) as session:
        address = (await session.exec("getent hosts model.test")).stdout.split()[0]
        told = await tries(session, listener)

    assert address == listener.host
    assert "tcp sent" in told
    assert "dns failed" in told


async def test_the_task_cannot_take_the_rules_away(listener):
    async with opened(network_policy=allow("192.0.2.1")) as session:
        capabilities = await session.exec("grep CapBnd /proc/self/status")
        told = await tries(session, listener)

    assert not int(capabilities.stdout.split()[1], 16) & 1 << 12  # CAP_NET_ADMIN
    assert not int(capabilities.stdout.split()[1], 16) & 1 << 13  # CAP_NET_RAW
    assert "tcp failed" in told
    assert listener.heard == []


@pytest.mark.parametrize("policy", [NO_NETWORK, allow("192.0.2.1")], ids=["none", "allowlist"])
async def test_a_switch_silences_a_process_that_was_left_running(listener, policy):
    mark = new_mark()
    async with opened() as session:
        variables = {**listener.variables(), "MARK": mark, "CODE": CHATTER}
        await session.exec('python3 -c "$CODE" >/dev/null 2>&1 &', env=variables)
        with trio.fail_after(20):
            while listener.heard.count(b"udp") < 3:  # noqa: ASYNC110  # a thread tells nobody
                await trio.sleep(0.05)

        await session.set_network_policy(policy)
        await trio.sleep(0.3)
        listener.heard.clear()
        await trio.sleep(1)

        assert listener.heard == []
        assert len(alive(mark)) >= 1


async def test_a_wider_policy_comes_when_earlier_processes_are_gone(listener):
    mark = new_mark()
    async with opened(network_policy=NO_NETWORK) as session:
        variables = {**listener.variables(), "MARK": mark, "CODE": CHATTER}
        await session.exec('setsid python3 -c "$CODE" >/dev/null 2>&1 &', env=variables)
        await wait_for_alive(mark)

        await session.set_network_policy(NetworkPolicy())

        assert alive(mark) == []
        assert listener.heard == []
        assert "tcp sent" in await tries(session, listener)


async def test_policies_follow_each_other_in_any_order(listener):
    allowed = allow(listener.host)
    async with opened(network_policy=NO_NETWORK) as session:
        for policy, arrives in (
            (allowed, True),
            (NO_NETWORK, False),
            (allow("192.0.2.1"), False),
            (NetworkPolicy(), True),
            (allow("192.0.2.1"), False),
            (NO_NETWORK, False),
            (NetworkPolicy(), True),
        ):
            await session.set_network_policy(policy)
            listener.heard.clear()
            told = await tries(session, listener)
            assert ("tcp sent" in told, bool(listener.heard)) == (arrives, arrives), policy


async def test_what_cannot_be_enforced_is_refused_by_name():
    for policy, told in (
        (allow("a.*.example.org"), r"a\.\*\.example\.org"),
        (allow("http://x"), "http://x"),
        (NetworkPolicy(network_mode="denylist"), "denylist"),
    ):
        with pytest.raises(EnvironmentFailed, match=told):
            async with opened(network_policy=policy):
                pass
