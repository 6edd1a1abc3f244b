"""Permissions are lent to the owner, and taken back whatever happens."""

import os
import stat
from pathlib import Path

import pytest

from agentcompass.as_owner import AsOwner, open_as_owner
from tests.ordinary_user import ordinary_user


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_folders_are_open_while_it_lasts_and_as_they_were_afterwards() -> None:
    """Fails where modes are given back from the top down: what lies below is out of reach."""
    with ordinary_user() as folder:
        inner = folder / "outer" / "inner"
        inner.mkdir(parents=True)
        (inner / "file").write_text("x")
        inner.chmod(0o000)
        inner.parent.chmod(0o000)

        with pytest.raises(FileNotFoundError), AsOwner() as owner:  # noqa: PT012
            owner.lend(inner.parent)
            owner.lend(inner)
            assert [path.name for path in inner.iterdir()] == ["file"]
            owner.lend(inner / "missing")

        assert mode(inner.parent) == 0
        inner.parent.chmod(0o700)
        assert mode(inner) == 0


def test_a_file_is_opened_and_keeps_its_mode() -> None:
    with ordinary_user() as folder:
        file = folder / "file"
        file.write_text("x")
        file.chmod(0o000)

        with os.fdopen(open_as_owner(file), "rb") as opened:
            assert opened.read() == b"x"

        assert mode(file) == 0


def test_no_link_is_opened(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/hostname")

    with pytest.raises(OSError):
        open_as_owner(tmp_path / "link")
