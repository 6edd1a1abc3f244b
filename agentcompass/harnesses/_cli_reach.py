"""Whether a program in an environment can reach a model whose address is this host's own. Pure."""

import ipaddress
from urllib.parse import urlsplit

from agentcompass.harnesses._packages import OWN_MACHINE


def caution(base_url: str, environment: str) -> str | None:
    """What to say of an address that, inside of a sandbox, is the sandbox itself; else None."""
    host = urlsplit(base_url).hostname or ""
    if environment == OWN_MACHINE or not _is_loopback(host):
        return None
    return (
        f"--model-base-url: the agent talks to its model from inside {environment}, where {host}"
        " is not this host, unless the sandbox shares its network; let the model listen on an"
        " address that a sandbox can reach, such as the gateway of docker's network"
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
