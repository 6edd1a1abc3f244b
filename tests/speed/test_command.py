"""`python -m benchmarks` as a user runs it."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_a_quick_look_is_taken_without_the_peers(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "benchmarks", "start_up", "--quick", "--out", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )

    told = json.loads((tmp_path / "bench.json").read_text())["start_up"]
    assert {"ours", "python", "bare_file"} <= told["versions"].keys()
    assert not {"peer", "inspect"} & told["versions"].keys()
    assert [row["failed"] for row in told["rows"] if row["failed"]] == []
