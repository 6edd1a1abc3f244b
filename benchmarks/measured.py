"""One run in this process, and what it cost; started afresh for each by `benchmarks.processes`.

    python -m benchmarks.measured evaluate '{"benchmark": "bench_tiny", ...}'
    python -m benchmarks.measured summary '{"run_dir": ...}'

The settings are the keywords of `async_run_evaluation` or `async_summary`; the last line of stdout
is the cost as JSON.
"""

import json
import resource
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import trio

from agentcompass import async_run_evaluation, async_summary
from agentcompass.cli.garbage import keep_loaded, seldom_collected
from benchmarks.loop_probe import LoopProbe

WORK: Mapping[str, Callable[..., Awaitable[Mapping[str, Any]]]] = {
    "evaluate": async_run_evaluation,
    "summary": async_summary,
}


async def _watched(work: partial[Any], probe: LoopProbe) -> Mapping[str, Any]:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(probe.watch_timers)
        result: Mapping[str, Any] = await work()
        nursery.cancel_scope.cancel()
    return result


def measure(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Run it and return its cost: seconds, bytes, and what held up the loop.

    `cpu_seconds` is that of the whole process from its start, imports included; `written_bytes` is
    the sum of the sizes of all its write calls; `peak_bytes` is resident memory.
    """
    probe, began = LoopProbe(), time.perf_counter()
    work = partial(WORK[name], **settings)
    keep_loaded()  # as the command line does
    with seldom_collected(), probe.watching_collections():
        result = trio.run(_watched, work, probe, instruments=[probe])
    usage, io = resource.getrusage(resource.RUSAGE_SELF), _numbers(Path("/proc/self/io"))
    return {
        "wall_seconds": time.perf_counter() - began,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "written_bytes": io["wchar"],
        "write_calls": io["syscw"],
        # not ru_maxrss, which a process inherits from the one that started it
        "peak_bytes": _numbers(Path("/proc/self/status"))["VmHWM"] * 1024,
        "latest_timer_seconds": probe.latest_seconds,
        "longest_collection_seconds": probe.collection_seconds,
        "longest_steps": [attrs.asdict(step) for step in probe.longest],
        "run_dir": str(Path(result["paths"]["run_info"]).parent),
    }


def _numbers(path: Path) -> dict[str, int]:
    """The fields of a file of the kernel that begin with a number."""
    pairs = (line.split(":", 1) for line in path.read_text().splitlines() if ":" in line)
    fields = ((name, rest.split()) for name, rest in pairs)
    return {name: int(rest[0]) for name, rest in fields if rest and rest[0].isdecimal()}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(sys.argv[1], json.loads(sys.argv[2]))) + "\n")
