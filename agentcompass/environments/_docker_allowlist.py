"""Who may be reached, as rules for the network namespace of a container. Pure."""

import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence

import attrs

from agentcompass.errors import EnvironmentFailed

_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?")
_PORTS = range(1, 65536)
_TABLE = "inet agentcompass"
_WEB_PORTS = (80, 443)
# On the sockets of the helper; a task without CAP_NET_ADMIN and CAP_NET_RAW can set none.
MARK = 0xA6E27
# What was redirected still counts as leaving by the interface that it was meant for.
_TO_HELPER = "ip daddr 127.0.0.1 accept"
# By which IPv6 finds neighbours (RFC 4861): the kernel's, since no task may send raw packets.
_NEIGHBOURS = "icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-advert } accept"
# Added, so that it can be deleted: a table must be there for that.
NO_RULES = f"table {_TABLE}\ndelete table {_TABLE}\n"


@attrs.frozen
class Allowed:
    """One entry of an allowlist: a host name, a network (an address is the smallest one), or a
    domain below which every host is meant.
    """

    name: str = ""
    network: str = ""
    domain: str = ""
    port: int | None = None


def parse(hosts: Sequence[str]) -> tuple[Allowed, ...]:
    """The entries of `NetworkPolicy.allowed_hosts`; `EnvironmentFailed` names what cannot be."""
    return tuple(_entry(text.strip()) for text in hosts)


def _entry(text: str) -> Allowed:
    bare, port = _split_port(text)
    try:
        return Allowed(network=str(ipaddress.ip_network(bare, strict=False)), port=port)
    except ValueError:
        pass
    name = bare.removeprefix("*.")
    if not _NAME.fullmatch(name):
        raise EnvironmentFailed(f"allowed_hosts: {text!r} is no host, *.host, address or CIDR")
    name = name.rstrip(".").lower()
    if bare.startswith("*."):
        return Allowed(domain=name, port=port)
    return Allowed(name=name, port=port)


def _split_port(text: str) -> tuple[str, int | None]:
    """`host:port`, `[v6]:port`, or without a port."""
    bare, colon, port = text.rpartition(":")
    is_bracketed = bare.startswith("[") and bare.endswith("]")
    if colon and port.isdecimal() and int(port) in _PORTS and (is_bracketed or ":" not in bare):
        return bare.strip("[]"), int(port)
    return text.removeprefix("[").removesuffix("]"), None


def patterns(entries: Iterable[Allowed]) -> list[tuple[str, tuple[int, ...]]]:
    """Each domain with the ports on which hosts below it may be reached."""
    return [
        (entry.domain, _WEB_PORTS if entry.port is None else (entry.port,))
        for entry in entries
        if entry.domain
    ]


def rules(entries: Sequence[Allowed], addresses: Mapping[str, Sequence[str]]) -> str:
    """The rules, for nft(8), that let pass what goes to and comes from the entries, and no more.

    Stateless, so that a connection from before the switch ends as well; but for the helper's own.
    Docker's own resolver, at 127.0.0.11, would carry questions out.
    """
    outward, inward = [], []
    for entry in entries:
        for network in [entry.network] if entry.network else addresses.get(entry.name, ()):
            family = "ip6" if ":" in network else "ip"
            port = "" if entry.port is None else f" th dport {entry.port}"
            proto = "" if entry.port is None else " meta l4proto { tcp, udp }"
            outward.append(f"{family} daddr {network}{proto}{port} accept")
            inward.append(f"{family} saddr {network}{proto}{port.replace('dport', 'sport')} accept")
    if any(line.startswith("ip6") for line in outward):
        outward.append(_NEIGHBOURS)
        inward.append(_NEIGHBOURS)
    ports = sorted({port for _, ports in patterns(entries) for port in ports})
    return f"""{NO_RULES}table {_TABLE} {{
    {_redirection(outward, ports) if ports else ""}
    chain outward {{
        type filter hook output priority 0; policy drop;
        {f"meta mark {MARK} ct mark set {MARK} accept" if ports else ""}
        ip daddr 127.0.0.11 drop
        {_TO_HELPER if ports else ""}
        oif lo accept
        {_lines(outward)}
        reject
    }}
    chain inward {{
        type filter hook input priority 0; policy drop;
        iif lo accept
        {f"ct mark {MARK} accept" if ports else ""}
        {_lines(inward)}
    }}
}}
"""


def _redirection(allowed: Sequence[str], ports: Sequence[int]) -> str:
    """Sends DNS, and connections that no address allows, to the helper, which fills in where.

    Before the rules by which Docker sends questions to its own resolver (priority -100).
    """
    return f"""chain redirected {{
        type nat hook output priority -110;
        meta mark {MARK} accept
        ip daddr 127.0.0.11 udp dport 53 redirect to :$resolver
        oif lo accept
        {_lines(allowed)}
        meta nfproto ipv4 udp dport 53 redirect to :$resolver
        meta nfproto ipv4 tcp dport {{ {", ".join(map(str, ports))} }} redirect to :$proxy
    }}"""


def hosts_lines(addresses: Mapping[str, Sequence[str]]) -> str:
    """The lines of /etc/hosts by which the names are found, since no resolver can be asked."""
    pairs = [(address, name) for name, found in addresses.items() for address in found]
    return "".join(f"{address} {name} # agentcompass\n" for address, name in pairs)


def _lines(statements: Sequence[str]) -> str:
    return "\n        ".join(statements)
