"""Copying: replaced at once, links never followed, odd entries passed over."""

import os
import socket
import stat

import pytest

from agentcompass.environments._copy import copy, read_file, write_file
from agentcompass.environments._host_folder import remove_folder


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

    copy(source, tmp_path / "target", check)

    assert [path.name for path in (tmp_path / "target").iterdir()] == ["file"]
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
