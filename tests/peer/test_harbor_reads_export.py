"""Harbor's own models take every exported trajectory.

Needs harbor 0.26.0 (Python 3.12) in an environment of its own, whose interpreter
AGENTCOMPASS_HARBOR_PYTHON names. `make harbor HARBOR_VENV=FOLDER` makes the environment in FOLDER,
once, and runs this test.
"""

import os
import subprocess
from pathlib import Path

import pytest

from tests.exporting.told_runs import exported, index
from tests.peer.test_inspect_reads_export import RUNS

PYTHON = os.environ.get("AGENTCOMPASS_HARBOR_PYTHON", "")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not PYTHON, reason="AGENTCOMPASS_HARBOR_PYTHON is not set: run `make harbor`"
    ),
]


def test_harbor_takes_every_trajectory(tmp_path: Path) -> None:
    written = 0
    for name, make in RUNS.items():
        plain = name.replace("/", " ")
        folder = exported(make(tmp_path / "runs" / plain), tmp_path / "atif" / plain, "atif")
        written += sum(line["file"] is not None for line in index(folder))
    script = Path(__file__).with_name("atif_files.py")
    done = subprocess.run(
        [PYTHON, script, tmp_path / "atif"], capture_output=True, text=True, timeout=300
    )

    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout) == written > 40
