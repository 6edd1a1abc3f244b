"""Old content or new content, never a mixture, whatever goes wrong (case 22)."""

import errno
import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentcompass.errors import RecordCorrupt, StoreError
from agentcompass.store.atomic import (
    Disk,
    read_record,
    replace_file,
    replacing,
    write_record,
)
from tests.store.disks import FaultyDisk, bad_block, no_space

HANDLES = Path("/proc/self/fd")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_record_is_written_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "task.json"
    write_record(Disk(), path, {"b": 1, "a": "é"}, sort_keys=True)

    assert path.read_text() == '{\n  "a": "é",\n  "b": 1\n}\n'
    assert read_record(path) == {"a": "é", "b": 1}
    assert names(tmp_path) == ["task.json"]


def test_what_a_killed_process_left_is_in_nobodys_way(tmp_path: Path) -> None:
    """In a container each process has the same id. Fails where the name depends on that alone."""
    program = """
import os, sys
from pathlib import Path
from agentcompass.exporting.target import made_at_once
from agentcompass.store.atomic import Disk, replace_file

class Killed(Disk):
    def rename(self, source, target):
        os._exit(9)

os.getpid = lambda: 1
folder = Path(sys.argv[1])
with made_at_once(folder / "export"):
    replace_file(Killed() if sys.argv[2:] else Disk(), folder / "record", b"new")
"""
    command = [sys.executable, "-c", program, str(tmp_path)]
    codes = [subprocess.run([*command, *more], check=False).returncode for more in (["kill"], [])]

    assert codes == [9, 0]
    assert (tmp_path / "record").read_bytes() == b"new"
    assert (tmp_path / "export").is_dir()


@pytest.mark.parametrize("error", [no_space, bad_block])
@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_failed_write_leaves_what_was_there(tmp_path: Path, step: int, error: object) -> None:
    path = tmp_path / "result.json"
    write_record(Disk(), path, {"old": True})

    with pytest.raises(StoreError, match=r"result\.json: (No space left|Input/output error)"):
        write_record(FaultyDisk(step, error=error), path, {"new": "x" * 10_000})  # type: ignore[arg-type]

    assert read_record(path) == {"old": True}
    assert names(tmp_path) == ["result.json"]


def test_the_steps_of_a_write_are_in_their_order(tmp_path: Path) -> None:
    """Fails when the rename comes before the sync: a crash could then leave an empty file."""
    disk = FaultyDisk()
    write_record(disk, tmp_path / "a.json", {})

    assert disk.steps == ["write", "sync", "rename"]


def write_three(disk: Disk, folder: Path) -> None:
    with replacing(disk) as files:
        for name in ("a", "b", "c"):
            files.add(folder / name, b"new")


def test_files_that_belong_together_are_all_on_the_disk_before_the_first_is_replaced(
    tmp_path: Path,
) -> None:
    disk = FaultyDisk()
    write_three(disk, tmp_path)

    assert disk.steps == ["write"] * 3 + ["sync"] * 3 + ["rename"] * 3
    assert names(tmp_path) == ["a", "b", "c"]


@pytest.mark.parametrize("step", range(1, 10))
def test_a_fault_leaves_the_later_of_the_files_as_they_were(tmp_path: Path, step: int) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_bytes(b"old")
    handles = names(HANDLES)

    with pytest.raises(StoreError, match=r"/[abc]: No space left"):
        write_three(FaultyDisk(step), tmp_path)

    replaced = max(0, step - 7)
    contents = [(tmp_path / name).read_bytes() for name in names(tmp_path)]
    assert contents == [b"new"] * replaced + [b"old"] * (3 - replaced)
    assert names(HANDLES) == handles


def test_many_files_are_not_all_open_at_once(tmp_path: Path) -> None:
    before, most = len(names(HANDLES)), 0
    with replacing(Disk()) as files:
        for number in range(100):
            files.add(tmp_path / str(number), b"")
            most = max(most, len(names(HANDLES)))

    assert len(names(tmp_path)) == 100
    assert most - before < 50


def test_a_file_given_in_pieces_is_replaced_as_a_whole(tmp_path: Path) -> None:
    """And written in blocks that are worth a system call: one for each piece would not be."""
    path, disk = tmp_path / "run_info.json", FaultyDisk()
    replace_file(disk, path, (b"12345678" for _ in range(20_000)))

    assert path.read_bytes() == b"12345678" * 20_000
    assert disk.steps == ["write", "write", "write", "sync", "rename"]


def test_pieces_that_end_in_a_fault_leave_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "run_info.json"
    path.write_bytes(b"old")

    with pytest.raises(StoreError, match=r"run_info\.json: No space left"):
        replace_file(FaultyDisk(2), path, (b"12345678" for _ in range(20_000)))

    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["run_info.json"]


def test_what_cannot_be_encoded_touches_no_file(tmp_path: Path) -> None:
    path = tmp_path / "result.json"

    with pytest.raises(StoreError, match=r"result\.json: cannot be written: metrics\.score: .*nan"):
        write_record(Disk(), path, {"metrics": {"score": float("nan")}})

    assert names(tmp_path) == []


def test_a_folder_that_is_gone_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"gone/result\.json: No such file"):
        write_record(Disk(), tmp_path / "gone" / "result.json", {})


def test_a_missing_record_is_none_and_a_torn_one_is_corrupt(tmp_path: Path) -> None:
    (tmp_path / "torn.json").write_bytes(b'{"a": ')

    assert read_record(tmp_path / "missing.json") is None
    with pytest.raises(RecordCorrupt, match=r"torn\.json"):
        read_record(tmp_path / "torn.json")
    with pytest.raises(StoreError, match="Is a directory"):
        read_record(tmp_path)


def test_a_file_is_only_written_when_it_changes(tmp_path: Path) -> None:
    path, disk = tmp_path / "a", FaultyDisk()
    path.write_bytes(b"one two")

    with replacing(disk) as files:
        files.change(path, lambda data: data.replace(b"three", b"3"))
    assert disk.steps == []

    with replacing(disk) as files:
        files.change(path, lambda data: data.replace(b"two", b"2"))
    assert path.read_bytes() == b"one 2"


def test_a_name_as_long_as_a_file_system_takes_can_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 200 + ".json")
    replace_file(Disk(), path, b"{}")

    assert path.read_bytes() == b"{}"


def test_files_get_the_permissions_that_the_umask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_record(Disk(), tmp_path / "a.json", {})
    finally:
        os.umask(before)

    assert (tmp_path / "a.json").stat().st_mode & 0o777 == 0o640


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 64 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("cannot mount a file system here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill(folder: Path) -> None:
    for number in itertools.count():
        write_record(Disk(), folder / f"{number}.json", {"new": "y" * 12_000})


def test_a_disk_that_is_really_full_keeps_the_old_content(small_disk: Path) -> None:
    path = small_disk / "result.json"
    write_record(Disk(), path, {"old": "x" * 8000})

    with pytest.raises(StoreError, match="No space left"):
        fill(small_disk)
    with pytest.raises(StoreError, match=os.strerror(errno.ENOSPC)):
        write_record(Disk(), path, {"new": "y" * 60_000})

    assert read_record(path) == {"old": "x" * 8000}
    assert not [name for name in names(small_disk) if name.endswith(".tmp")]
    for name in names(small_disk):
        read_record(small_disk / name)
