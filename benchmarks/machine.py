"""On which machine it was measured: what a reader needs to judge the numbers, and no more."""

import os
import platform
from pathlib import Path
from typing import Any


def facts() -> dict[str, Any]:
    """Cores, processor, memory, systems and load; no names, no paths."""
    return {
        "cores": len(os.sched_getaffinity(0)),
        "processor": _field(Path("/proc/cpuinfo"), "model name"),
        "memory": _field(Path("/proc/meminfo"), "MemTotal"),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load": [round(load, 2) for load in os.getloadavg()],
    }


def _field(path: Path, name: str) -> str:
    """What a file of the kernel says of a name; empty where it does not."""
    for line in path.read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""
