"""The real command on real file systems that are full, read-only, or take no large file."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agentcompass.store.reading import StoredTask, read_tasks
from tests.cli.process import Ended, environment
from tests.whole_runs import write_tasks

# A file system of so many bytes of its own, gone with the process; a copy of it stays.
TINY = """
mount -t tmpfs -o size="$1" none "$2" && shift && full="$1" && copy="$2" && shift 2 || exit 99
"$@"; code=$?; cp -a "$full/." "$copy"; exit "$code"
"""
READ_ONLY = (
    'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@" || exit 99'
)
SMALL_FILES = 'ulimit -f "$1" && shift && exec "$@"'

LOUD = {"solution/solve.sh": "head -c 19000 /dev/zero | tr '\\0' x\n"}


def may_mount() -> bool:
    probe = ["unshare", "-m", "mount", "-t", "tmpfs", "none", "/tmp"]
    try:
        return subprocess.run(probe, capture_output=True, check=False, timeout=30).returncode == 0
    except FileNotFoundError:
        return False


mounts = pytest.mark.skipif(not may_mount(), reason="mounting a file system is not permitted here")


def command(folder: Path, results: Path, tasks: dict[str, dict[str, str]]) -> list[str]:
    path = write_tasks(folder / "tasks", tasks)
    return [
        *(sys.executable, "-m", "agentcompass", "run", "task_directory", "oracle", "none"),
        *("--benchmark-params", json.dumps({"path": str(path)}), "--results-dir", str(results)),
    ]


def call(folder: Path, *argv: str) -> Ended:
    done = subprocess.run(
        argv,
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Ended(code=done.returncode, out=done.stdout, err=done.stderr)


def check(ended: Ended, results: Path) -> list[StoredTask]:
    """No traceback, nothing by halves; what was kept of the tasks."""
    assert "Traceback" not in ended.err
    assert not list(results.rglob("*.tmp"))
    for path in results.rglob("*.json"):
        json.loads(path.read_bytes())
    kept = [task for run in results.glob("*/*/") for task in read_tasks(run)]
    assert all(isinstance(task, StoredTask) for task in kept), kept
    return [task for task in kept if isinstance(task, StoredTask)]


@mounts
@pytest.mark.parametrize("size", ["4k", "48k", "160k"])
def test_a_full_file_system_ends_in_one_line_with_nothing_half_written(
    tmp_path: Path, size: str
) -> None:
    full, copy = tmp_path / "full", tmp_path / "copy"
    full.mkdir()
    copy.mkdir()
    wanted = command(tmp_path, full, {f"t{number}": LOUD for number in range(8)})
    ended = call(
        tmp_path, "unshare", "-m", "sh", "-c", TINY, "sh", size, str(full), str(copy), *wanted
    )

    assert ended.code == 1
    kept = check(ended, copy)
    assert sum(task.is_published for task in kept) < 8  # the others may have begun, and no more
    [line] = [line for line in ended.err.splitlines() if line.startswith("Error: ")]
    assert line == ended.err.splitlines()[-1]
    assert "No space left on device" in line


@mounts
def test_a_read_only_folder_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    results = tmp_path / "results"
    results.mkdir()
    wanted = command(tmp_path, results, {"t": {}})
    ended = call(tmp_path, "unshare", "-m", "sh", "-c", READ_ONLY, "sh", str(results), *wanted)

    assert ended.code == 2
    [line] = ended.err.splitlines()
    assert line.startswith(f"Error: --results-dir: {results}")
    assert line.endswith("cannot be written to: Read-only file system")
    assert list(results.iterdir()) == []


def test_a_place_that_takes_no_folder_is_refused_in_one_line(tmp_path: Path) -> None:
    ended = call(tmp_path, *command(tmp_path, Path("/proc/results"), {"t": {}}))

    assert ended.code == 2
    [line] = ended.err.splitlines()
    assert "--results-dir: /proc/results" in line


def test_a_result_too_large_for_the_disk_fails_its_task_and_progress_is_warned_of_once(
    tmp_path: Path,
) -> None:
    """No file may exceed 16 KiB here: one result does, and progress.jsonl in the end."""
    results = tmp_path / "results"
    tasks = {"loud": LOUD, **{f"t{number}": {} for number in range(9)}}
    wanted = [*command(tmp_path, results, tasks), "--task-concurrency", "1"]
    ended = call(tmp_path, "bash", "-c", SMALL_FILES, "bash", "16", *wanted)
    kept = check(ended, results)

    assert ended.code == 1
    assert {task.task_id for task in kept if task.is_published} == tasks.keys() - {"loud"}
    assert ended.err.count("progress is not written, the run goes on: ") == 1
    assert ended.err.count("task loud could not be saved: ") == 1
    assert "attempt-1/result.json: File too large" in ended.err
    assert ended.err.splitlines()[-1].startswith("Error: Final FATAL issues")
