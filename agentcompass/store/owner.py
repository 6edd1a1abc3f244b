"""Which process something belongs to, and whether that still runs."""

import os
import platform
from pathlib import Path


def this_process() -> str:
    """This process as `host/pid/boot.namespace.ticks`, which no later one is given again."""
    pid = os.getpid()
    return f"{platform.node()}/{pid}/{_where()}.{_ticks(pid)}"


def is_alive(owner: str) -> bool | None:
    """Whether a process named by `this_process` runs; None where that cannot be known here, since
    it is of another host, boot or PID namespace: containers may share the name of a host."""
    host, _, rest = owner.partition("/")
    pid, _, started = rest.partition("/")
    where, _, ticks = started.rpartition(".")
    here = _where()
    if host != platform.node() or not pid.isdecimal() or not here or where != here:
        return None
    return _ticks(int(pid)) == ticks


def _where() -> str:
    """The boot of this kernel, and the PID namespace in it; empty where neither is told."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
        return f"{boot}.{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return ""


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
