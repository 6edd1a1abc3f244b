"""What a command costs is seen from outside, and how it failed is told without paths."""

import os
import sys
from pathlib import Path

import pytest

from benchmarks.cost import TurnFailed, cost_of, sizes, without_paths

# Uses up CPU until the clock of its process says so.
BURN = "import time\nwhile time.process_time() < 0.3: pass\n"


def cost(code: str, folder: Path, timeout_seconds: float = 60) -> dict[str, float]:
    return cost_of([sys.executable, "-c", code], folder, os.environ, timeout_seconds)


def test_the_cpu_is_that_of_a_process_and_of_its_children(tmp_path: Path) -> None:
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BURN!r}])"

    assert cost(BURN, tmp_path)["cpu_seconds"] >= 0.3
    assert cost(child, tmp_path)["cpu_seconds"] >= 0.3


def test_the_peak_is_of_the_process_and_not_of_who_started_it(tmp_path: Path) -> None:
    hold = "import time; x = b'x' * {}; time.sleep(0.5)"
    here = bytearray(200_000_000)

    assert cost(hold.format(1), tmp_path)["peak_bytes"] < len(here)
    assert cost(hold.format(100_000_000), tmp_path)["peak_bytes"] > 100_000_000


def test_what_is_written_and_what_is_kept_are_counted_alone(tmp_path: Path) -> None:
    twice = "import os\nfor _ in 'ab':\n  with open('kept', 'wb') as f: f.write(b'x' * 5000)\n"

    assert 10_000 <= cost(twice, tmp_path)["written_bytes"] < 11_000
    assert sizes(tmp_path) == {"files": 1, "kept_bytes": 5000}


def test_a_failure_says_how_it_ended(tmp_path: Path) -> None:
    with pytest.raises(TurnFailed, match=r"ended with 3 after \d+ s: bad luck"):
        cost("import sys; print('bad luck'); sys.exit(3)", tmp_path)


def test_what_does_not_end_is_killed_with_its_children(tmp_path: Path) -> None:
    code = "import subprocess; subprocess.run(['sleep', '1000'])"

    with pytest.raises(TurnFailed, match="ended with -9"):
        cost(code, tmp_path, timeout_seconds=0.3)


def test_a_text_loses_the_folders_of_its_paths() -> None:
    told = without_paths('File "/home/someone/lib/x.py", line 3: /tmp/a/b.json or a/b, 1/2')

    assert told == 'File ".../x.py", line 3: .../b.json or a/b, 1/2'
