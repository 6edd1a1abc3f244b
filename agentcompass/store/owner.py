"""Which process something belongs to, and whether that still runs."""

import os
import platform
from pathlib import Path


def this_process() -> str:
    """This process as `host/pid/start`, which no later one on this host is given again."""
    return f"{platform.node()}/{os.getpid()}/{_started(os.getpid())}"


def is_alive(owner: str) -> bool | None:
    """Whether a process named by `this_process` runs; None where that cannot be known here."""
    host, _, rest = owner.partition("/")
    pid, _, started = rest.partition("/")
    if host != platform.node() or not pid.isdecimal() or not started:
        return None
    return _started(int(pid)) == started


def _started(pid: int) -> str:
    """When a process started: the boot, and the kernel's ticks since (proc(5), stat, field 22)."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return f"{boot}.{fields[19]}"
