"""Copying: replaced at once, links never followed, odd entries passed over."""

import os
import socket
import stat

import pytest

from agentcompass.environments._copy import copy, read_file, write_file
from agentcompass.environments._host_folder import remove_folder
from agentcompass.errors import ArtifactOverBudget
from agentcompass.records.environment import Transfer, TransferLimits
from tests.ordinary_user import ordinary_user

MEGABYTE = 1 << 20


def check() -> None:
    """Nothing breaks off."""


def test_a_link_in_the_target_gives_way_instead_of_leading_elsewhere(tmp_path):
    """Fails where a folder that is a link counts as a folder."""
    source, target, outside = tmp_path / "source", tmp_path / "target", tmp_path / "outside"
    (source / "sub").mkdir(parents=True)
    (source / "sub/file").write_text("new")
    (source / "file").write_text("new")
    target.mkdir()
    outside.mkdir()
    (outside / "file").write_text("untouched")
    (target / "sub").symlink_to(outside)
    (target / "file").symlink_to(outside / "file")

    copy(source, target, check)

    assert (target / "sub/file").read_text() == "new"
    assert (target / "file").read_text() == "new"
    assert not (target / "sub").is_symlink()
    assert [path.name for path in outside.iterdir()] == ["file"]
    assert (outside / "file").read_text() == "untouched"


def test_sockets_pipes_and_devices_are_passed_over(tmp_path):
    """Row 45. Fails, by waiting for ever, where a named pipe is read."""
    source = tmp_path / "source"
    source.mkdir()
    os.mkfifo(source / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(source / "socket"))
    (source / "file").write_text("kept")

    copied = copy(source, tmp_path / "target", check)

    assert [path.name for path in (tmp_path / "target").iterdir()] == ["file"]
    assert (copied.size_bytes, copied.entries, sorted(copied.skipped)) == (4, 3, ["pipe", "socket"])
    for odd in ("pipe", "socket"):
        with pytest.raises(OSError, match="neither a file nor a folder"):
            copy(source / odd, tmp_path / "other", check)
    with pytest.raises(OSError, match="not a regular file"):
        read_file(source / "pipe")


def test_modes_and_times_are_kept_also_where_nothing_may_be_written(tmp_path):
    source = tmp_path / "source"
    (source / "locked").mkdir(parents=True)
    (source / "locked/file").write_text("x")
    os.utime(source / "locked/file", ns=(10**18, 10**18))
    (source / "locked/file").chmod(0o400)
    (source / "locked").chmod(0o555)

    copy(source, tmp_path / "target", check)

    copied = tmp_path / "target/locked"
    assert stat.S_IMODE(copied.stat().st_mode) == 0o555
    assert stat.S_IMODE((copied / "file").stat().st_mode) == 0o400
    assert (copied / "file").stat().st_mtime_ns == 10**18


def test_a_privilege_is_not_carried_over(tmp_path):
    (tmp_path / "source").write_text("x")
    (tmp_path / "source").chmod(0o4755)

    copy(tmp_path / "source", tmp_path / "target", check)

    assert stat.S_IMODE((tmp_path / "target").stat().st_mode) == 0o755


def test_what_is_excluded_is_neither_taken_nor_counted(tmp_path):
    source = tmp_path / "source"
    for name in ("keep/a", "keep/a.log", "cache/deep/b", "c"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text("xx")

    copied = copy(source, tmp_path / "target", check, exclude=["*.log", "cache"])

    names = sorted(str(p.relative_to(tmp_path / "target")) for p in tmp_path.glob("target/**/*"))
    assert names == ["c", "keep", "keep/a"]
    assert copied == Transfer(size_bytes=4, entries=3)
    assert copy(source / "c", tmp_path / "file", check, exclude=["c"]).entries == 0
    assert not (tmp_path / "file").exists()


def test_a_huge_sparse_file_is_refused_before_a_byte_is_written(tmp_path):
    """cases.md 45."""
    (tmp_path / "source").mkdir()
    with (tmp_path / "source/huge").open("wb") as file:
        file.truncate(2**40)

    def nothing_is_there() -> None:
        assert list(tmp_path.glob("target/*")) == []

    with pytest.raises(ArtifactOverBudget, match="more than 1048576 bytes"):
        copy(
            tmp_path / "source",
            tmp_path / "target",
            nothing_is_there,
            limits=TransferLimits(max_bytes=MEGABYTE, max_entries=10),
        )

    assert list((tmp_path / "target").iterdir()) == []


def test_a_file_that_grows_for_ever_ends_at_the_limit(tmp_path):
    """Fails, by filling the disk, where only the size at the beginning counts."""
    (tmp_path / "source").mkdir()
    growing = (tmp_path / "source/growing").open("ab", buffering=0)
    growing.write(b"x")

    def grow() -> None:
        growing.write(b"x" * 1000)
        assert growing.tell() < 10 * MEGABYTE, "nothing stops it"

    limits = TransferLimits(max_bytes=500_000, max_entries=10)
    with growing, pytest.raises(ArtifactOverBudget, match="bytes"):
        copy(tmp_path / "source", tmp_path / "target", grow, limits=limits)

    assert list((tmp_path / "target").iterdir()) == []


def test_entries_are_counted_as_they_come(tmp_path):
    (tmp_path / "source").mkdir()
    for number in range(50):
        (tmp_path / f"source/{number}").touch()
    limits = TransferLimits(max_bytes=0, max_entries=50)
    assert copy(tmp_path / "source", tmp_path / "all", check, limits=limits).entries == 50

    limits = TransferLimits(max_bytes=0, max_entries=49)
    with pytest.raises(ArtifactOverBudget, match="49 entries"):
        copy(tmp_path / "source", tmp_path / "some", check, limits=limits)

    assert len(list((tmp_path / "some").iterdir())) == 49


def test_holes_stay_holes(tmp_path):
    """cases.md 45: sparse files take neither memory nor disk."""
    with (tmp_path / "source").open("wb") as file:
        file.seek(256 << 20)
        file.write(b"end")

    copy(tmp_path / "source", tmp_path / "target", check)

    found = (tmp_path / "target").stat()
    assert found.st_size == (256 << 20) + 3
    assert found.st_blocks * 512 < MEGABYTE
    with (tmp_path / "target").open("rb") as file:
        file.seek(256 << 20)
        assert file.read() == b"end"


def test_what_its_owner_may_not_read_is_copied_with_its_mode():
    """cases.md 45: mode 000, of files and of folders."""
    with ordinary_user() as folder:
        source, target = folder / "source", folder / "target"
        (source / "closed/sub").mkdir(parents=True)
        (source / "closed/sub/file").write_text("inside")
        (source / "file").write_text("denied")
        for path in ("file", "closed/sub/file", "closed/sub", "closed"):
            (source / path).chmod(0o000)

        assert copy(source, target, check).entries == 4

        for top in (source, target):
            for path in ("file", "closed", "closed/sub", "closed/sub/file"):
                assert stat.S_IMODE((top / path).stat().st_mode) == 0
                (top / path).chmod(0o700)
            assert (top / "closed/sub/file").read_text() == "inside"
            assert (top / "file").read_text() == "denied"


def test_more_can_be_added_to_a_folder_that_came_read_only():
    with ordinary_user() as folder:
        (folder / "source").mkdir()
        (folder / "source/file").write_text("new")
        (folder / "target").mkdir(mode=0o555)

        copy(folder / "source", folder / "target", check)
        copy(folder / "source/file", folder / "target/other", check)

        assert (folder / "target/file").read_text() == "new"
        assert (folder / "target/other").read_text() == "new"
        assert stat.S_IMODE((folder / "target").stat().st_mode) == 0o555


def test_breaking_off_leaves_no_half_file(tmp_path):
    (tmp_path / "source").write_bytes(b"x" * 3_000_000)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/target").write_text("old")
    calls = iter(range(3))

    def stop() -> None:
        if next(calls) == 1:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        copy(tmp_path / "source", tmp_path / "folder/target", stop)

    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["target"]
    assert (tmp_path / "folder/target").read_text() == "old"


def test_what_vanishes_while_it_is_copied_is_passed_over(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for name in "abc":
        (source / name).write_text(name)
    calls = iter(range(10))

    def take_away() -> None:
        if next(calls) == 0:
            for path in source.iterdir():
                path.unlink()

    copy(source, tmp_path / "target", take_away)

    assert list((tmp_path / "target").iterdir()) == []


def test_a_folder_that_vanishes_once_it_was_listed_is_passed_over(tmp_path):
    (tmp_path / "source/folder").mkdir(parents=True)

    def take_away() -> None:
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "source/folder").rename(tmp_path / "elsewhere/folder")

    copy(tmp_path / "source", tmp_path / "target", take_away)

    assert list((tmp_path / "target").iterdir()) == []


def test_a_file_is_replaced_and_not_written_into(tmp_path):
    target = tmp_path / "target"
    target.write_text("old")
    with target.open() as reader:
        write_file(target, b"new", 0o600)
        assert reader.read() == "old"

    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_deep_tree_is_no_matter_of_recursion(tmp_path):
    top = deepest = tmp_path / "deep"
    top.mkdir()
    for _ in range(1200):
        deepest = deepest / "d"
        deepest.mkdir()

    copy(top, tmp_path / "copy", check)

    assert (tmp_path / "copy" / deepest.relative_to(top)).is_dir()
    remove_folder(top)
    remove_folder(tmp_path / "copy")
    assert list(tmp_path.iterdir()) == []
