"""Where the Docker Engine is: DOCKER_HOST and its TLS files, read as the docker SDK reads them."""

import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import attrs
import httpx

from agentcompass.errors import UsageError

DEFAULT_HOST = "unix:///var/run/docker.sock"


@attrs.frozen
class Endpoint:
    """An engine: `host` as DOCKER_HOST spells it, and what a connection to it needs."""

    host: str
    base_url: str
    socket: str | None = None
    tls: ssl.SSLContext | None = None

    def client(self) -> httpx.AsyncClient:
        """A new client without any time limit or cap of its own: deadlines are cancel scopes."""
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=4)
        transport = httpx.AsyncHTTPTransport(
            uds=self.socket,
            verify=True if self.tls is None else self.tls,
            limits=limits,
            trust_env=False,
        )
        return httpx.AsyncClient(transport=transport, base_url=self.base_url, timeout=None)  # noqa: S113


def endpoint(environ: Mapping[str, str]) -> Endpoint:
    """The engine that the variables name; `UsageError` where it cannot be spoken to. Blocking."""
    host = environ.get("DOCKER_HOST") or DEFAULT_HOST
    parts = _checked(host)
    if parts.scheme == "unix":
        return Endpoint(host, "http://docker", socket=parts.path)
    tls = _tls(environ)
    secured = tls is not None or parts.scheme == "https"
    return Endpoint(host, f"{'https' if secured else 'http'}://{parts.netloc}", tls=tls)


def _checked(host: str) -> SplitResult:
    try:
        parts = urlsplit(host)
        fault = _socket_fault(parts) if parts.scheme == "unix" else _address_fault(parts)
    except ValueError as error:  # of a port or an IPv6 address
        raise UsageError(f"DOCKER_HOST={host}: {error}") from error
    if fault is not None:
        raise UsageError(f"DOCKER_HOST={host}: {fault}")
    return parts


def _socket_fault(parts: SplitResult) -> str | None:
    if parts.netloc or not parts.path.startswith("/"):
        return "expected unix:///PATH, with an absolute path"
    # Not Path's, which raises in a folder that is closed to this user.
    if os.path.exists(parts.path) and not Path(parts.path).is_socket():  # noqa: PTH110
        return f"{parts.path} is not a socket"
    return None


def _address_fault(parts: SplitResult) -> str | None:
    if parts.scheme not in ("tcp", "http", "https"):
        return (
            "environment docker speaks to unix:// and tcp:// engines;"
            " forward a remote socket to a local one and name that"
        )
    return None if parts.hostname and parts.port else "expected tcp://HOST:PORT"


def _tls(environ: Mapping[str, str]) -> ssl.SSLContext | None:
    folder, verify = environ.get("DOCKER_CERT_PATH"), environ.get("DOCKER_TLS_VERIFY")
    if not folder and not verify:
        return None
    files = Path(folder) if folder else Path.home() / ".docker"
    try:
        context = ssl.create_default_context(cafile=str(files / "ca.pem"))
        context.load_cert_chain(str(files / "cert.pem"), str(files / "key.pem"))
    except OSError as error:
        raise UsageError(
            f"DOCKER_CERT_PATH: ca.pem, cert.pem and key.pem in {files} cannot be used: {error}"
        ) from error
    if not verify:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
