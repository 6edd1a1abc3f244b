"""Starts what is measured: fresh processes that know the components of these benchmarks."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs

ROOT = Path(__file__).resolve().parent.parent

_ENTRY_POINTS = """
[agentcompass.benchmarks]
bench_tiny = benchmarks.tiny:Tiny
bench_calls = benchmarks.one_call:OneCall
bench_stamped = benchmarks.stamped:Stamped

[agentcompass.environments]
bench_fake = benchmarks.forgetful:Forgetful

[agentcompass.harnesses]
bench_shell = benchmarks.shell_agent:Shell
"""


@attrs.frozen
class Place:
    """A folder for results and for nothing else, and the environment of what runs in it."""

    folder: Path
    environ: Mapping[str, str]

    def measured(self, work: str, **settings: Any) -> dict[str, Any]:
        """What `benchmarks.measured` says of one run in a process of its own.

        Raises `RuntimeError` with the end of what the process said where it failed.
        """
        command = [sys.executable, "-m", "benchmarks.measured", work, json.dumps(settings)]
        ended = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        if ended.returncode != 0:
            raise RuntimeError(f"{work} {settings} failed: {ended.stderr[-2000:]}")
        cost: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
        return cost


@contextmanager
def open_place(above: Path | None = None) -> Iterator[Place]:
    """A temporary place below `above`, which decides which disk is measured."""
    with tempfile.TemporaryDirectory(prefix="agentcompass-bench-", dir=above) as name:
        folder = Path(name)
        information = folder / "plugins" / "agentcompass_bench-0.dist-info"
        information.mkdir(parents=True)
        (information / "entry_points.txt").write_text(_ENTRY_POINTS)
        (information / "METADATA").write_text("Metadata-Version: 2.1\nName: agentcompass-bench\n")
        path = os.pathsep.join((str(ROOT), str(information.parent)))
        home = {"HOME": name, "XDG_CONFIG_HOME": name}  # no settings of the user's take part
        yield Place(folder, {**os.environ, **home, "PYTHONPATH": path})
