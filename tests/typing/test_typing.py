"""The public names are typed: mypy, strict, accepts programs that use them, and the example."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = (
    *sorted(Path(__file__).parent.glob("[!t]*.py")),
    ROOT / "docs/examples/service/service.py",
)


def test_the_package_says_that_it_is_typed() -> None:
    assert (ROOT / "agentcompass" / "py.typed").is_file()


@pytest.mark.slow
def test_programs_that_use_the_public_names_are_accepted() -> None:
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent"]
    command += ["--cache-dir", str(ROOT / ".mypy_cache"), *map(str, PROGRAMS)]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)

    assert done.returncode == 0, done.stdout + done.stderr
