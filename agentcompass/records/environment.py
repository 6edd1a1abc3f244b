"""What an environment is asked for: image, resources, network, variables."""

from collections.abc import Mapping
from typing import Literal

import attrs

NetworkMode = Literal["public", "no-network", "allowlist", "denylist"]


@attrs.frozen(kw_only=True)
class NetworkPolicy:
    """Who may be reached: hosts are `host`, `*.host`, an address or a CIDR, each with `:port`."""

    network_mode: NetworkMode = "public"
    allowed_hosts: tuple[str, ...] = ()
    denied_hosts: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class EnvironmentSetup:
    """What to start. `build_context` is a folder with a Dockerfile on the host, or None."""

    image: str | None = None
    build_context: str | None = None
    build_timeout_seconds: float | None = None
    workdir: str | None = None
    user: str | None = None
    os: str | None = None


@attrs.frozen(kw_only=True)
class Resources:
    """Compute asked for; None leaves it to the provider. `cpu` in cores, sizes in MB."""

    cpu: float | None = None
    memory_mb: int | None = None
    storage_mb: int | None = None
    gpu: int | None = None
    gpu_type: str | None = None


@attrs.frozen(kw_only=True)
class EnvironmentPlan:
    """One environment as an attempt resolved it: provider id, what to start, under which policy."""

    id: str
    network_policy: NetworkPolicy = NetworkPolicy()
    setup: EnvironmentSetup = EnvironmentSetup()
    resources: Resources = Resources()
    env_variables: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class Capabilities:
    """What a provider can do; a plan that asks for more is refused before anything starts.

    `ignores` are setup or resource fields which a task may describe and the provider only warns
    about; what `--env-params` asks for and is not in `gives` is refused in preflight.
    `host_patterns` is whether a policy may name `*.host`.
    """

    network_modes: frozenset[NetworkMode] = frozenset({"public"})
    switches_network: bool = False
    host_patterns: bool = True
    gives: frozenset[str] = frozenset()
    ignores: frozenset[str] = frozenset()


@attrs.frozen(kw_only=True)
class TransferLimits:
    """How much one transfer may bring: bytes in files, and entries of whatever kind below its top.

    A file that is transferred by itself is one entry.
    """

    max_bytes: int
    max_entries: int


@attrs.frozen(kw_only=True)
class Transfer:
    """What a transfer brought, counted as `TransferLimits` counts.

    `skipped` are special files (sockets, pipes, devices) that were passed over, by their paths
    relative to what was transferred.
    """

    size_bytes: int
    entries: int
    skipped: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class ExecResult:
    """One ended command. `exit_code` is None where it timed out; signals are 128 + n.

    `stdout` and `stderr` are decoded as UTF-8 with replacement and hold the head and the tail of
    what was printed; `truncated_bytes` counts what lies between, in (stdout, stderr).
    """

    exit_code: int | None
    stdout: str = ""
    stderr: str = ""
    timed_out: bool = False
    seconds: float = 0.0
    truncated_bytes: tuple[int, int] = (0, 0)

    @property
    def ok(self) -> bool:
        """Whether the command ended by itself with exit code 0."""
        return self.exit_code == 0 and not self.timed_out
