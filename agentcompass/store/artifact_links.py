"""Artifacts of an earlier run under a second name; nothing in the source is changed. Blocking."""

import errno
import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from agentcompass.as_owner import AsOwner, open_as_owner
from agentcompass.errors import StoreError


class SourceFault(StoreError):
    """The artifacts of an earlier attempt cannot be read, or not under the names of this run."""


# What a copy fails with that would fail for any source.
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})


def link_artifacts(source: str, target: str) -> None:
    """Make `target` what folder `source` is; what is no folder, or a link to one, is passed over.

    Each file is linked, or copied where the file system cannot. Raises `SourceFault`, and any other
    `StoreError` where nothing can be written.
    """
    try:
        mode = _mode(source)
        if stat.S_ISDIR(mode):
            with AsOwner() as owner:
                _link_tree(source, target, mode, owner)
    except OSError as error:
        fault = StoreError if error.errno in _FULL else SourceFault
        raise fault(f"{source}: {error.strerror or error}") from error


def _mode(path: str) -> int:
    try:
        return os.lstat(path).st_mode
    except FileNotFoundError:
        return 0


def _link_tree(source: str, target: str, mode: int, owner: AsOwner) -> None:
    """No recursion: an agent may leave more folders in each other than there can be calls."""
    waiting, made = [(source, target, mode)], []
    while waiting:
        here, there, mode = waiting.pop()
        if not os.access(here, os.R_OK | os.X_OK, effective_ids=True):
            owner.lend(Path(here))
        os.mkdir(there)  # noqa: PTH102  # text, since there may be many
        made.append((there, mode))
        with os.scandir(here) as entries:
            for entry in entries:
                name = f"{there}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((entry.path, name, entry.stat(follow_symlinks=False).st_mode))
                elif entry.is_symlink() or entry.is_file():
                    _link_or_copy(entry.path, name)
    for there, mode in reversed(made):  # last, since a folder may be read-only
        os.chmod(there, stat.S_IMODE(mode))  # noqa: PTH101  # the same


def _link_or_copy(source: str, target: str) -> None:
    with suppress(OSError):  # another file system, or one without links
        os.link(source, target, follow_symlinks=False)
        return
    _copy(Path(source), Path(target))


def _copy(source: Path, target: Path) -> None:
    if source.is_symlink():
        target.symlink_to(source.readlink())
        return
    mode = source.stat().st_mode
    with os.fdopen(open_as_owner(source), "rb") as data, target.open("xb") as copy:
        shutil.copyfileobj(data, copy)
    target.chmod(stat.S_IMODE(mode))
