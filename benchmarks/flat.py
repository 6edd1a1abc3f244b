"""Is the price of a task the same in a run of 1,000 and in one of 10,000?

    python -m benchmarks.flat [--sizes 100 1000 10000] [--rounds 1] [--json FILE] [--dir DIR]

Each size runs in a fresh process, in turn; a run without a task tells what starting up costs. Of
several rounds the median counts. `benchmarks/README.md` says what the columns mean.
"""

import argparse
import json
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.processes import Place, open_place

CONCURRENCY = 32

# What is told of the summary and of the reuse of a run.
LATER = ("wall_seconds", "cpu_seconds", "peak_bytes", "latest_timer_seconds")


def run_of(place: Place, tasks: int) -> dict[str, Any]:
    """One run of so many tasks, its summary, its reuse, and what lies on the disk of it."""
    settings = {
        "benchmark": "bench_tiny",
        "benchmark_params": {"count": tasks},
        "harness": "nop",
        "model": "none",
        "environment": "bench_fake",
        "env_open_qps": {"bench_fake": 0},
        "task_concurrency": CONCURRENCY,
        # a folder of its own, removed with the place: see `benchmarks.turns`
        "results_dir": tempfile.mkdtemp(prefix="results-", dir=place.folder),
        "progress": "plain",
    }
    cost = place.measured("evaluate", **settings)
    kept = _sizes(Path(cost["run_dir"]))
    summary = place.measured("summary", run_dir=cost["run_dir"])
    again = place.measured("evaluate", **settings, reuse=True)
    return {
        **cost,
        "tasks": tasks,
        "files": kept.pop("files"),
        "kept_bytes": sum(kept.values()),
        "kept_by_name": dict(kept),
        **{f"summary_{name}": summary[name] for name in LATER},
        **{f"reuse_{name}": again[name] for name in LATER},
    }


def _sizes(directory: Path) -> Counter[str]:
    """Bytes by file name, and how many files there are."""
    sizes: Counter[str] = Counter()
    for path in directory.rglob("*"):
        if path.is_file():
            sizes[path.name] += path.stat().st_size
            sizes["files"] += 1
    return sizes


PER_TASK = ("cpu_seconds", "wall_seconds", "written_bytes", "write_calls", "kept_bytes", "files")


def medians(rounds: Sequence[Mapping[str, Any]], start: Mapping[str, float]) -> dict[str, float]:
    """The medians over runs of one size; what is told per task is so beyond the `start`."""
    tasks = rounds[0]["tasks"]
    names = [name for name, value in rounds[0].items() if isinstance(value, int | float)]
    middle = {name: statistics.median(run[name] for run in rounds) for name in names}
    per_task = {name: (middle[name] - start[name]) / tasks for name in PER_TASK if tasks}
    return {**middle, **per_task, "longest_step_seconds": _longest(rounds)["seconds"]}


def _longest(rounds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    steps = (step for run in rounds for step in run["longest_steps"])
    found: dict[str, Any] = max(steps, key=lambda step: step["seconds"])
    return found


ROWS = (
    ("CPU, ms a task", "cpu_seconds", 1e3),
    ("wall, ms a task", "wall_seconds", 1e3),
    ("written, bytes a task", "written_bytes", 1),
    ("write calls a task", "write_calls", 1),
    ("on disk, bytes a task", "kept_bytes", 1),
    ("files a task", "files", 1),
    ("peak memory, MB", "peak_bytes", 1e-6),
    ("longest step of the loop, ms", "longest_step_seconds", 1e3),
    ("latest timer, ms", "latest_timer_seconds", 1e3),
    ("longest garbage collection, ms", "longest_collection_seconds", 1e3),
    ("summary, s", "summary_wall_seconds", 1),
    ("summary, peak memory, MB", "summary_peak_bytes", 1e-6),
    ("reuse, s", "reuse_wall_seconds", 1),
    ("reuse, peak memory, MB", "reuse_peak_bytes", 1e-6),
    ("reuse, latest timer, ms", "reuse_latest_timer_seconds", 1e3),
)


def table(found: Mapping[int, Mapping[str, float]]) -> str:
    """A row for each number; the last column is the largest run over the one before it."""
    sizes = sorted(found)
    lines = [_line("", [f"{size:,} tasks" for size in sizes], "ratio")]
    for title, name, unit in ROWS:
        values = [found[size][name] for size in sizes]
        ratio = f"{values[-1] / values[-2]:.3f}" if len(values) > 1 and values[-2] else ""
        lines.append(_line(title, [f"{value * unit:,.2f}" for value in values], ratio))
    return "\n".join(lines)


def _line(title: str, cells: Sequence[str], ratio: str) -> str:
    return f"{title:<31}" + "".join(f"{cell:>15}" for cell in cells) + f"{ratio:>9}"


def _where(step: Mapping[str, Any]) -> str:
    times = f"{step['seconds'] * 1e3:.1f} ms ({step['cpu_seconds'] * 1e3:.1f} of CPU)"
    return f"  {times} in task {step['task']}, until {step['stopped_in']}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the table, and write the numbers."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flat", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000, 10000])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--dir", type=Path, help="where to write runs: decides on the disk")
    options = parser.parse_args(arguments)
    with open_place(options.dir) as place:
        rounds = [
            [run_of(place, size) for size in (0, *sorted(options.sizes))]
            for _ in range(options.rounds)
        ]
    by_size = list(zip(*rounds, strict=True))
    start = medians(by_size[0], {})
    found = {runs[0]["tasks"]: medians(runs, start) for runs in by_size[1:]}
    sys.stdout.write(f"{table(found)}\n\nlongest steps at the largest size:\n")
    steps = sorted(by_size[-1][-1]["longest_steps"], key=lambda step: -step["seconds"])
    sys.stdout.write("\n".join(map(_where, steps)) + "\n")
    if options.json:
        options.json.write_text(json.dumps({"medians": found, "runs": rounds}, indent=2) + "\n")


if __name__ == "__main__":
    main()
