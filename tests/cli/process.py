"""The command line as a process of its own: its exit code, streams and signals."""

import os
import subprocess
import sys
import time
from pathlib import Path

import attrs

ROOT = Path(__file__).resolve().parents[2]
RUN = ("run", "toy", "toy", "m", "--env", "toybox")


@attrs.frozen(kw_only=True)
class Ended:
    """An ended process."""

    code: int
    out: str
    err: str


def environment(toys: Path, **extra: str) -> dict[str, str]:
    """Variables for a process that finds this project and the toys, and no configuration."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    path = os.pathsep.join((str(ROOT), str(toys)))
    return {**kept, "PYTHONPATH": path, "XDG_CONFIG_HOME": str(toys), "LC_ALL": "C.UTF-8", **extra}


def start(*arguments: str, toys: Path, cwd: Path, fake: str | None = None, **extra: str):
    """Start the command, around the fake `evaluate` if `fake` says what that does."""
    command = ["-m", "agentcompass"] if fake is None else ["-m", "tests.cli.fake_evaluate"]
    variables = environment(toys, **({} if fake is None else {"FAKE_RUN": fake}), **extra)
    return subprocess.Popen(
        [sys.executable, *command, *arguments],
        cwd=cwd,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(process: "subprocess.Popen[bytes]") -> Ended:
    """Wait for the end; a process that hangs is killed and fails the test."""
    try:
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    return Ended(
        code=process.returncode, out=out.decode(errors="replace"), err=err.decode(errors="replace")
    )


def call(*arguments: str, toys: Path, cwd: Path, fake: str | None = None, **extra: str) -> Ended:
    """Start the command and wait for its end."""
    return finish(start(*arguments, toys=toys, cwd=cwd, fake=fake, **extra))


def wait_for(path: Path) -> None:
    """Wait until `path` exists."""
    ends_at = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < ends_at, f"{path} did not appear"
        time.sleep(0.02)
