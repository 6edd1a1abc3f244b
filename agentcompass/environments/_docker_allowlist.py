"""Who may be reached, as rules for the network namespace of a container. Pure."""

import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence

import attrs

from agentcompass.errors import EnvironmentFailed

_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?")
_PORTS = range(1, 65536)
_TABLE = "inet agentcompass"
# Added, so that it can be deleted: a table must be there for that.
NO_RULES = f"table {_TABLE}\ndelete table {_TABLE}\n"


@attrs.frozen
class Allowed:
    """One entry of an allowlist: a host name, or a network (an address is the smallest one)."""

    name: str = ""
    network: str = ""
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
    if bare.startswith("*."):
        raise EnvironmentFailed(
            f"network mode allowlist on docker cannot enforce {text!r}: name each host of it"
        )
    if not _NAME.fullmatch(bare):
        raise EnvironmentFailed(f"allowed_hosts: {text!r} is no host, address or CIDR")
    return Allowed(name=bare.rstrip(".").lower(), port=port)


def _split_port(text: str) -> tuple[str, int | None]:
    """`host:port`, `[v6]:port`, or without a port."""
    bare, colon, port = text.rpartition(":")
    is_bracketed = bare.startswith("[") and bare.endswith("]")
    if colon and port.isdecimal() and int(port) in _PORTS and (is_bracketed or ":" not in bare):
        return bare.strip("[]"), int(port)
    return text.removeprefix("[").removesuffix("]"), None


def rules(entries: Iterable[Allowed], addresses: Mapping[str, Sequence[str]]) -> str:
    """The rules, for nft(8), that let pass what goes to and comes from the entries, and no more.

    Stateless, so that a connection from before the switch ends as well. Docker's own resolver, at
    127.0.0.11, would carry questions out.
    """
    outward, inward = [], []
    for entry in entries:
        for network in [entry.network] if entry.network else addresses[entry.name]:
            family = "ip6" if ":" in network else "ip"
            port = "" if entry.port is None else f" th dport {entry.port}"
            proto = "" if entry.port is None else " meta l4proto { tcp, udp }"
            outward.append(f"{family} daddr {network}{proto}{port} accept")
            inward.append(f"{family} saddr {network}{proto}{port.replace('dport', 'sport')} accept")
    return f"""{NO_RULES}table {_TABLE} {{
    chain outward {{
        type filter hook output priority 0; policy drop;
        ip daddr 127.0.0.11 drop
        oif lo accept
        {_lines(outward)}
        reject
    }}
    chain inward {{
        type filter hook input priority 0; policy drop;
        iif lo accept
        {_lines(inward)}
    }}
}}
"""


def hosts_lines(addresses: Mapping[str, Sequence[str]]) -> str:
    """The lines of /etc/hosts by which the names are found, since no resolver can be asked."""
    pairs = [(address, name) for name, found in addresses.items() for address in found]
    return "".join(f"{address} {name} # agentcompass\n" for address, name in pairs)


def _lines(statements: Sequence[str]) -> str:
    return "\n        ".join(statements)
