"""What do large transfers with a container take, beside the docker command line?

    python -m benchmarks.docker_transfers [--image agentcompass-test:bookworm] [--rounds 3]

200 MB of output of a command, a tree with a sparse file of 1 GB down, a tree of 100,000 files up.
Each runs in a process of its own, first by a session of environment `docker`, then by `docker exec`
or `docker cp` on the same container; of several rounds the medians count. Peak memory (`VmHWM`) is
that of the process that has the session, its idle memory included.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import attrs
import trio

from agentcompass.deadlines import CleanupClock
from agentcompass.environments._docker_config import DockerConfig
from agentcompass.environments.docker import Docker
from agentcompass.protocols import Session, SessionRequest
from agentcompass.records.environment import EnvironmentPlan, EnvironmentSetup

_OUTPUT = "head -c 200000000 /dev/zero | tr '\\0' x"
_SPARSE = "mkdir -p /down && truncate -s 1G /down/sparse && head -c 1000000 /dev/zero >/down/file"
_FOLDERS, _FILES = 100, 1000


@attrs.frozen(kw_only=True)
class Work:
    """One transfer: what is prepared for it, ours, and the command line's, given `name`."""

    prepare: Callable[[Session, Path], Awaitable[object]]
    ours: Callable[[Session, Path], Awaitable[object]]
    docker: Callable[[str, Path], Sequence[str]]


async def _nothing(_: Session, __: Path) -> None:
    pass


async def _write_tree(_: Session, folder: Path) -> None:
    for number in range(_FOLDERS):
        inner = folder / "up" / f"folder-{number}"
        inner.mkdir(parents=True)
        for file in range(_FILES):
            (inner / f"file-{file}").write_bytes(b"some bytes\n")


WORKS = {
    "output": Work(
        prepare=_nothing,
        ours=lambda session, _: session.exec(_OUTPUT),
        docker=lambda name, _: ("exec", name, "sh", "-c", _OUTPUT),
    ),
    "down": Work(
        prepare=lambda session, _: session.exec(_SPARSE),
        ours=lambda session, folder: session.download("/down", folder / "ours"),
        docker=lambda name, folder: ("cp", f"{name}:/down", str(folder / "theirs")),
    ),
    "up": Work(
        prepare=_write_tree,
        ours=lambda session, folder: session.upload(folder / "up", "/ours"),
        docker=lambda name, folder: ("cp", str(folder / "up"), f"{name}:/theirs"),
    ),
}


def main() -> None:
    """Measure, and print a table; with `--work` one of them in this process, as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.docker_transfers")
    parser.add_argument("--image", default="agentcompass-test:bookworm")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", choices=WORKS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        _print(json.dumps(trio.run(_measure, WORKS[options.work], options.image)))
        return
    _print(f"{'':8}{'ours, s':>10}{'docker, s':>12}{'peak memory, MB':>18}")
    for name in WORKS:
        rounds = [_in_a_process(name, options.image) for _ in range(options.rounds)]
        ours, docker, peak = (statistics.median(one) for one in zip(*rounds, strict=True))
        _print(f"{name:8}{ours:>10.2f}{docker:>12.2f}{peak:>18.1f}")


def _in_a_process(name: str, image: str) -> Sequence[float]:
    command = [sys.executable, "-m", "benchmarks.docker_transfers", "--work", name]
    done = subprocess.run([*command, "--image", image], stdout=subprocess.PIPE, check=True)
    found: Sequence[float] = json.loads(done.stdout)
    return found


async def _measure(work: Work, image: str) -> tuple[float, float, float]:
    """Seconds of ours and of docker's, and the peak of this process in MB."""
    session = await Docker(DockerConfig(pull="never")).open(_request(image))
    try:
        with tempfile.TemporaryDirectory() as folder:
            await work.prepare(session, Path(folder))
            began = trio.current_time()
            await work.ours(session, Path(folder))
            ours, peak = trio.current_time() - began, _peak_mb()
            command = ["docker", *work.docker(session.name, Path(folder))]
            return ours, await trio.to_thread.run_sync(_seconds_of, command), peak
    finally:
        await session.aclose()


def _request(image: str) -> SessionRequest:
    setup = EnvironmentSetup(image=image)
    return SessionRequest(
        plan=EnvironmentPlan(id="docker", setup=setup),
        run_id="benchmark",
        task_id="transfers",
        attempt=1,
        cleanup=CleanupClock(60.0),
    )


def _seconds_of(command: Sequence[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def _peak_mb() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    peak = next(line for line in lines if line.startswith("VmHWM:"))
    return int(peak.split()[1]) / 1024


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
