"""Copying files and trees: each file is replaced at once, and no link is ever followed.

Modes (rwx) and times are kept, links stay links, and sockets, pipes and devices are passed over.
"""

import logging
import os
import stat
import uuid
from collections.abc import Callable
from pathlib import Path

Check = Callable[[], None]

_CHUNK_BYTES = 1 << 20
_PERMISSIONS = 0o777
# Without O_NONBLOCK, opening a named pipe would wait for its writer.
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC

log = logging.getLogger(__name__)


def copy(source: Path, target: Path, check: Check) -> None:
    """Copy a file, or the contents of a folder, to `target`; its parents are made. Blocking.

    `check` is called again and again and may raise to break off. Raises `OSError`.
    """
    source = Path(os.path.realpath(source, strict=True))
    mode = source.stat().st_mode
    if stat.S_ISDIR(mode):
        _copy_tree(source, target, check)
    elif stat.S_ISREG(mode):
        target.parent.mkdir(parents=True, exist_ok=True)
        _copy_file(source, target, check)
    else:
        raise OSError(f"{str(source)!r} is neither a file nor a folder")


def write_file(target: Path, data: bytes, mode: int) -> None:
    """Replace or make the file `target` at once, parents made. Blocking; raises `OSError`."""
    target.parent.mkdir(parents=True, exist_ok=True)

    def fill(handle: int) -> None:
        _write_all(handle, data)
        os.fchmod(handle, mode & _PERMISSIONS)

    _replace(target, fill)


def write_link(target: Path, leads_to: str | Path) -> None:
    """Replace or make the link `target` at once. Blocking; raises `OSError`."""
    temporary = _beside(target)
    temporary.symlink_to(leads_to)
    try:
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def read_file(source: Path) -> bytes:
    """The bytes of a regular file. Blocking; raises `OSError`, never waits for a writer."""
    handle = os.open(source, _READ)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(f"{str(source)!r} is not a regular file")
        return file.read()


def _copy_tree(source: Path, target: Path, check: Check) -> None:
    made = []
    waiting = [(source, target)]
    while waiting:
        here, there = waiting.pop()
        if _make_folder(there):
            made.append((there, here.stat()))
        with os.scandir(here) as entries:
            for entry in entries:
                check()
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((here / entry.name, there / entry.name))
                else:
                    _copy_entry(entry, there / entry.name, check)
    # Last, since a folder may be read-only, and from the bottom up.
    for there, found in reversed(made):
        os.utime(there, ns=(found.st_atime_ns, found.st_mtime_ns))
        there.chmod(found.st_mode & _PERMISSIONS)


def _make_folder(folder: Path) -> bool:
    """Whether the folder is new. A link in its place gives way."""
    if folder.is_symlink():
        folder.unlink()
    elif folder.is_dir():
        return False
    folder.mkdir(parents=True)
    return True


def _copy_entry(entry: os.DirEntry[str], target: Path, check: Check) -> None:
    try:
        if entry.is_symlink():
            write_link(target, Path(entry.path).readlink())
        elif entry.is_file(follow_symlinks=False):
            _copy_file(Path(entry.path), target, check)
        else:
            log.info("not copied, since it is neither file nor folder nor link: %s", entry.path)
    except FileNotFoundError:
        # A process at work in the folder may take away what was listed.
        if os.path.lexists(entry.path):
            raise


def _copy_file(source: Path, target: Path, check: Check) -> None:
    handle = _open_own(source)
    with os.fdopen(handle, "rb", buffering=0) as file:
        found = os.fstat(handle)

        def fill(copy: int) -> None:
            while data := file.read(_CHUNK_BYTES):
                check()
                _write_all(copy, data)
            os.fchmod(copy, found.st_mode & _PERMISSIONS)
            os.utime(copy, ns=(found.st_atime_ns, found.st_mtime_ns))

        _replace(target, fill)


def _open_own(source: Path) -> int:
    """Open a file that may lack the permission to be read, as its owner can."""
    try:
        return os.open(source, _READ | os.O_NOFOLLOW)
    except PermissionError:
        mode = source.lstat().st_mode
        source.chmod(mode | stat.S_IRUSR)
        try:
            return os.open(source, _READ | os.O_NOFOLLOW)
        finally:
            source.chmod(stat.S_IMODE(mode))


def _write_all(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _replace(target: Path, fill: Callable[[int], None]) -> None:
    temporary = _beside(target)
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fill(handle)
        temporary.replace(target)
    finally:
        os.close(handle)
        temporary.unlink(missing_ok=True)


def _beside(target: Path) -> Path:
    return target.with_name(f".agentcompass-{uuid.uuid4().hex}")
