"""What one command costs: CPU, wall time, memory and what it writes, seen from outside."""

import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

# How often the peak of memory is looked at: the kernel forgets it when the process ends.
_LOOK_MS = 20
_TICKS = os.sysconf("SC_CLK_TCK")


class TurnFailed(Exception):
    """What was to be measured did not end well; the message has no paths of this machine."""


def cost_of(
    command: Sequence[str], folder: Path, environ: Mapping[str, str], timeout_seconds: float
) -> dict[str, float]:
    """Run a command in a folder to its end.

    CPU is that of the process and of the descendants that it has waited for; `peak_bytes` is
    `VmHWM` of the process alone, not `ru_maxrss`, which it inherits from the one that starts it,
    and is not there where the process ended before a second look;
    `written_bytes` is the sum of the sizes of all write calls; `cores_of_others` is how much of the
    machine everything else used meanwhile, this benchmark's model server included: wall time
    is worth little where that is much.
    """
    said, began = folder / "output", time.perf_counter()
    with said.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    cost = _followed(process, began, timeout_seconds)
    if process.returncode != 0:
        end = without_paths(said.read_text(errors="replace")[-600:])
        seconds = cost["wall_seconds"]
        raise TurnFailed(f"ended with {process.returncode} after {seconds:.0f} s: {end}")
    said.unlink()
    return cost


def _followed(
    process: subprocess.Popen[bytes], began: float, timeout_seconds: float
) -> dict[str, float]:
    """What a process that has just been started costs until its end."""
    busy = _busy_seconds()
    peak = _wait(process, began + timeout_seconds)
    wall = time.perf_counter() - began
    io = numbers(Path(f"/proc/{process.pid}/io"))
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    cpu = usage.ru_utime + usage.ru_stime
    seen = {} if peak is None else {"peak_bytes": peak}
    return {
        **seen,
        "wall_seconds": wall,
        "cpu_seconds": cpu,
        "written_bytes": io.get("wchar", 0),
        "write_calls": io.get("syscw", 0),
        "cores_of_others": max(0.0, _busy_seconds() - busy - cpu) / wall,
    }


def _wait(process: subprocess.Popen[bytes], until: float) -> int | None:
    """Wait for the end, or bring it about, without reaping; the peak of memory until then.

    It is None for who was looked at only when it had just been started.
    """
    looks, peak = 0, 0
    ended, poll = os.pidfd_open(process.pid), select.poll()
    poll.register(ended, select.POLLIN)
    try:
        while not poll.poll(_LOOK_MS if looks else 0):
            looks += 1
            peak = max(peak, numbers(Path(f"/proc/{process.pid}/status")).get("VmHWM", 0))
            if time.perf_counter() > until:
                os.killpg(process.pid, signal.SIGKILL)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    finally:
        os.close(ended)
    return peak * 1024 if looks > 1 else None


def numbers(path: Path) -> dict[str, int]:
    """The fields of a file of the kernel that begin with a number; none where it is gone."""
    try:
        lines = path.read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return {}
    fields = ((name, rest.split()) for name, _, rest in (line.partition(":") for line in lines))
    return {name: int(rest[0]) for name, rest in fields if rest and rest[0].isdecimal()}


def sizes(folder: Path) -> dict[str, float]:
    """What a command has left below a folder: `files` and `kept_bytes`."""
    kept = [path.lstat().st_size for path in folder.rglob("*") if not path.is_dir()]
    return {"files": len(kept), "kept_bytes": sum(kept)}


def without_paths(text: str) -> str:
    """The text with only the last part of every path in it."""
    return re.sub(r"(?:/[\w.+@-]+)+/([\w.+@-]+)", r".../\1", text).strip()


def _busy_seconds() -> float:
    """CPU that all processes have used since the machine started."""
    times = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    idle, waiting = times[3:5]
    return (sum(times) - idle - waiting) / _TICKS
