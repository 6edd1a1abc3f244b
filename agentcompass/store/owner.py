"""Which process something belongs to, and whether that still runs."""

import hashlib
import os
import platform
from functools import lru_cache
from pathlib import Path


def this_process() -> str:
    """This process as `host/pid/machine.boot.namespace.ticks`, which no later one is given."""
    return _name(os.getpid())  # which a fork has of its own


@lru_cache(maxsize=1)
def _name(pid: int) -> str:
    return f"{platform.node()}/{pid}/{_where()}.{_ticks(pid)}"


def is_alive(owner: str) -> bool | None:
    """Whether a process named by `this_process` runs: none does of an earlier boot of this machine.

    None where that cannot be known here, since it is of another host, machine or PID namespace:
    containers may share the name of a host.
    """
    host, _, rest = owner.partition("/")
    pid, _, started = rest.partition("/")
    where, _, ticks = started.rpartition(".")
    here = _where()
    if host != platform.node() or not pid.isdecimal() or not here:
        return None
    if where == here:
        return _ticks(int(pid)) == ticks
    return False if _is_earlier_boot(where, here) else None


def _is_earlier_boot(where: str, here: str) -> bool:
    there, own = where.split("."), here.split(".")
    return len(there) == len(own) and there[0] == own[0] != "" and there[1] != own[1]


def _where() -> str:
    """This machine (empty where it has no id), its boot, and the PID namespace in that; empty
    where these are not told."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
        return f"{_machine()}.{boot}.{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return ""


def _machine() -> str:
    """Of machine-id(5), which is not to be shown as it is; containers have none of their own."""
    try:
        own = Path("/etc/machine-id").read_bytes().strip()
    except OSError:
        return ""
    return hashlib.sha256(b"agentcompass " + own).hexdigest()[:8] if own else ""


def _ticks(pid: int) -> str:
    """When a process started, in the kernel's ticks since the boot (proc(5), stat, field 22).

    Empty where there is none, or where it is dead and only waited for by nobody.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return ""
    state, *fields = text.rpartition(")")[2].split()
    return "" if state in "ZX" else fields[18]
