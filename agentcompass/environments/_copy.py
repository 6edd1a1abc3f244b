"""Copying files and trees: each file is replaced at once, and no link is ever followed.

Modes (rwx), times and holes are kept, links stay links; sockets, pipes and devices are passed over.
"""

import os
import posixpath
import stat
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

import attrs

from agentcompass.as_owner import AsOwner, open_as_owner
from agentcompass.environments._transfer import Check, Meter
from agentcompass.records.environment import Transfer, TransferLimits

CHUNK_BYTES = 1 << 20
PERMISSIONS = 0o777

_ZEROS = bytes(CHUNK_BYTES)


def copy(
    source: Path,
    target: Path,
    check: Check,
    *,
    exclude: Sequence[str] = (),
    limits: TransferLimits | None = None,
) -> Transfer:
    """Copy a file, or the contents of a folder, to `target`; its parents are made. Blocking.

    `check` is called again and again and may raise to break off. Raises `OSError`, and
    `ArtifactOverBudget` before more than `limits` is written.
    """
    meter = Meter(check, exclude, limits)
    name, source = source.name, Path(os.path.realpath(source, strict=True))
    mode = source.stat().st_mode
    with AsOwner() as owner:
        if stat.S_ISDIR(mode):
            _Tree(source, target, meter, owner).copy()
        elif not stat.S_ISREG(mode):
            raise OSError(f"{str(source)!r} is neither a file nor a folder")
        elif not meter.leaves_out(name):
            meter.entry()
            make_parents(target, owner)
            _copy_file(source, target, meter)
    return meter.transfer()


def write_file(target: Path, data: bytes, mode: int) -> None:
    """Replace or make the file `target` at once, parents made. Blocking; raises `OSError`."""
    target.parent.mkdir(parents=True, exist_ok=True)

    def fill(handle: int) -> None:
        write_all(handle, data)
        os.fchmod(handle, mode & PERMISSIONS)

    replace_file(target, fill)


def write_link(target: Path, leads_to: str | Path) -> None:
    """Replace or make the link `target` at once. Blocking; raises `OSError`."""
    replace_entry(target, lambda temporary: temporary.symlink_to(leads_to))


def read_file(source: Path) -> bytes:
    """The bytes of a regular file. Blocking; raises `OSError`, never waits for a writer."""
    handle = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(f"{str(source)!r} is not a regular file")
        return file.read()


def replace_entry(target: Path, make: Callable[[Path], None]) -> None:
    """Replace or make `target` by what `make` puts at the path that it is given, at once."""
    temporary = target.with_name(f".agentcompass-{uuid.uuid4().hex}")
    try:
        make(temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def replace_file(target: Path, fill: Callable[[int], None]) -> None:
    """Replace or make `target` by what `fill` writes to a descriptor, at once or not at all."""

    def make(temporary: Path) -> None:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fill(handle)
        finally:
            os.close(handle)

    replace_entry(target, make)


def write_all(handle: int, data: bytes) -> None:
    """Write `data` where the descriptor stands; a whole chunk of zeros becomes a hole."""
    if data == _ZEROS:
        os.ftruncate(handle, os.lseek(handle, len(data), os.SEEK_CUR))
        return
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def make_parents(target: Path, owner: AsOwner) -> None:
    """Make the folders above `target` and see to it that it can be made in them."""
    target.parent.mkdir(parents=True, exist_ok=True)
    owner.lend(target.parent, os.W_OK | os.X_OK)


def make_folder(folder: Path, owner: AsOwner) -> bool:
    """Whether the folder is new; a link in its place gives way. What is there can be added to."""
    if folder.is_symlink():
        folder.unlink()
    elif folder.is_dir():
        owner.lend(folder, os.W_OK | os.X_OK)
        return False
    folder.mkdir(parents=True)
    return True


@attrs.define(eq=False)
class _Tree:
    """The copying of one folder. Paths are relative to it; the empty one is the folder itself."""

    source: Path
    target: Path
    meter: Meter
    owner: AsOwner
    _waiting: list[str] = attrs.field(init=False, factory=lambda: [""])
    _made: list[tuple[Path, os.stat_result]] = attrs.field(init=False, factory=list)

    def copy(self) -> None:
        while self._waiting:
            path = self._waiting.pop()
            self._unless_gone(path, self._folder)
        # Last, since a folder may be read-only, and from the bottom up.
        for folder, found in reversed(self._made):
            os.utime(folder, ns=(found.st_atime_ns, found.st_mtime_ns))
            folder.chmod(found.st_mode & PERMISSIONS)

    def _unless_gone(self, path: str, take: Callable[[str], None]) -> None:
        try:
            take(path)
        except FileNotFoundError:
            # A process at work in the folder may take away what was listed.
            if os.path.lexists(self.source / path):
                raise

    def _folder(self, path: str) -> None:
        here, there = self.source / path, self.target / path
        found = here.lstat()
        self.owner.lend(here)
        if make_folder(there, self.owner):
            self._made.append((there, found))
        with os.scandir(here) as entries:
            for entry in entries:
                name = posixpath.join(path, entry.name)
                if not self.meter.leaves_out(name):
                    self.meter.entry()
                    self._unless_gone(name, self._entry)

    def _entry(self, path: str) -> None:
        here, there = self.source / path, self.target / path
        mode = here.lstat().st_mode
        if stat.S_ISDIR(mode):
            self._waiting.append(path)
        elif stat.S_ISLNK(mode):
            write_link(there, here.readlink())
        elif stat.S_ISREG(mode):
            _copy_file(here, there, self.meter)
        else:
            self.meter.skip(path)


def _copy_file(source: Path, target: Path, meter: Meter) -> None:
    with os.fdopen(open_as_owner(source), "rb", buffering=0) as file:
        found = os.fstat(file.fileno())
        meter.expect(found.st_size)

        def fill(copy: int) -> None:
            while data := file.read(CHUNK_BYTES):
                meter.data(len(data))
                write_all(copy, data)
            os.fchmod(copy, found.st_mode & PERMISSIONS)
            os.utime(copy, ns=(found.st_atime_ns, found.st_mtime_ns))

        replace_file(target, fill)
