"""Unpacking a tar archive from a stream, without trust in who packed it."""

import math
import os
import posixpath
import tarfile
from collections.abc import Sequence
from pathlib import Path
from tarfile import EOFHeaderError, HeaderError  # type: ignore[attr-defined]
from typing import IO, Any, BinaryIO, Self, cast

import attrs

from agentcompass.as_owner import AsOwner
from agentcompass.environments._copy import (
    CHUNK_BYTES,
    PERMISSIONS,
    make_folder,
    replace_entry,
    replace_file,
    write_all,
    write_link,
)
from agentcompass.environments._transfer import Check, Meter
from agentcompass.errors import EnvironmentFailed
from agentcompass.records.environment import Transfer, TransferLimits

# tarfile keeps a member's headers in memory, of whatever size the stream says they are.
HEADER_BYTES = 4 << 20
_READ_BYTES = 64 << 10
_LATEST = 2**33  # seconds; what file systems take as a time
# What tarfile lets through of an archive that was made to confuse it.
_BROKEN = (tarfile.TarError, ValueError, OverflowError, RecursionError)


def unpack(
    stream: BinaryIO,
    target: Path,
    *,
    root: str = ".",
    exclude: Sequence[str] = (),
    limits: TransferLimits | None = None,
    check: Check,
) -> Transfer:
    """Unpack an archive without compression; `stream` need not be seekable. Blocking.

    `root` is the member that stands for `target`: `.` where the archive holds the contents of a
    folder, its last name where it holds a folder or file of that name, as Docker's do. `check` is
    called again and again and may raise to break off. A hard link to what `exclude` leaves out is
    passed over, and noted as special files are.

    Raises `EnvironmentFailed` naming the member that would leave `target`, or for an archive that
    is broken or ends too early, and `ArtifactOverBudget` before more than `limits` is written.
    """
    source = _Source(stream, check)
    with AsOwner() as owner:
        unpacking = _Unpacking(
            target, posixpath.normpath(root), Meter(check, exclude, limits), owner
        )
        try:
            _each_member(source, unpacking)
        except _BROKEN as error:
            raise EnvironmentFailed(f"the archive cannot be read: {error}") from error
        unpacking.finish()
    return unpacking.meter.transfer()


def _each_member(source: "_Source", unpacking: "_Unpacking") -> None:
    with tarfile.open(
        mode="r|",
        fileobj=cast(BinaryIO, source),  # of which a stream only reads
        tarinfo=_Header,
        bufsize=_READ_BYTES,
        encoding="utf-8",
        errors="surrogateescape",
    ) as archive:
        while (member := archive.next()) is not None:
            source.allowed = math.inf  # contents are counted by the meter
            unpacking.take(archive, member)
            archive.members.clear()  # type: ignore[attr-defined]  # else it keeps every header
            assert archive.fileobj is not None, "an open archive has a file"
            unread = archive.offset - archive.fileobj.tell()
            source.allowed = HEADER_BYTES + unread


@attrs.define(eq=False)
class _Source:
    """What tarfile reads; `allowed` bytes at most until it has found the next member."""

    stream: BinaryIO
    check: Check
    allowed: float = HEADER_BYTES

    def read(self, size: int) -> bytes:
        self.check()
        data = self.stream.read(size)
        self.allowed -= len(data)
        if self.allowed < 0:
            raise EnvironmentFailed(f"the archive has a header of more than {HEADER_BYTES} bytes")
        return data


class _Header(tarfile.TarInfo):
    """A header that must be whole: tarfile would take a broken one for the end of the archive."""

    @classmethod
    def fromtarfile(cls, tarfile: tarfile.TarFile, **options: Any) -> Self:
        try:
            found = super().fromtarfile(tarfile, **options)
        except EOFHeaderError:
            raise  # a block of zeros is the proper end
        except HeaderError as error:
            raise EnvironmentFailed(f"the archive is broken or cut short: {error}") from error
        if found.size < 0:
            raise EnvironmentFailed(f"member {found.name!r} of the archive has a negative size")
        return found


@attrs.define(eq=False)
class _Unpacking:
    """Puts members below `target`. Paths are relative to it; the empty one is `target` itself.

    `folders` are known to be folders and no links: what is a folder stays one.
    """

    target: Path
    root: str
    meter: Meter
    owner: AsOwner
    folders: set[str] = attrs.field(factory=set, init=False)
    made: dict[str, tarfile.TarInfo | None] = attrs.field(factory=dict, init=False)

    def take(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        """Unpack one member, or leave it out, or refuse it."""
        path = self._path(member, member.name)
        try:
            if not path and member.isdir():
                self._folder(path, member)
            elif not self.meter.leaves_out(path or posixpath.basename(self.root)):
                self.meter.entry()
                self._make_above(path, member)
                self._put(path, archive, member)
        except (OSError, ValueError) as error:
            raise _refusal(member, f"cannot be unpacked: {error}") from error

    def finish(self) -> None:
        """Give folders their modes and times: last, since they may be read-only; from below."""
        for path, member in reversed(self.made.items()):
            if member is not None:
                os.utime(self.target / path, ns=_times(member))
                (self.target / path).chmod(member.mode & PERMISSIONS)

    def _path(self, member: tarfile.TarInfo, name: str) -> str:
        if name.startswith("/") or ".." in name.split("/") or "\0" in name:
            raise _refusal(member, f"leaves its folder: {name!r}")
        path = posixpath.normpath(name)
        if path == self.root:
            return ""
        if self.root == ".":
            return path
        if not path.startswith(f"{self.root}/"):
            raise _refusal(member, f"is not in {self.root!r}: {name!r}")
        return path.removeprefix(f"{self.root}/")

    def _make_above(self, path: str, member: tarfile.TarInfo) -> None:
        parts = path.split("/")[:-1]
        for folder in ["/".join(parts[:count]) for count in range(len(parts) + 1 if path else 0)]:
            if folder in self.folders:
                continue
            there = self.target / folder
            if there.is_symlink():
                raise _refusal(member, f"lies behind the link {folder!r}")
            if make_folder(there, self.owner):
                self.made[folder] = None
                self.meter.entry()
            self.folders.add(folder)

    def _put(self, path: str, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        if member.isdir():
            self._folder(path, member)
        elif member.isreg():
            contents = archive.extractfile(member)
            assert contents is not None, "a regular member has contents"
            self._file(path, member, contents)
        elif not path:
            raise _refusal(member, "is neither a file nor a folder, and there is nothing else")
        elif member.issym():
            write_link(self.target / path, member.linkname)
        elif member.islnk():
            self._hard_link(path, member)
        else:
            self.meter.skip(path)

    def _folder(self, path: str, member: tarfile.TarInfo) -> None:
        if make_folder(self.target / path, self.owner) or path in self.made:
            self.made[path] = member
        self.folders.add(path)

    def _file(self, path: str, member: tarfile.TarInfo, contents: IO[bytes]) -> None:
        self.meter.expect(member.size)

        def fill(copy: int) -> None:
            while data := contents.read(CHUNK_BYTES):
                self.meter.data(len(data))
                write_all(copy, data)
            os.fchmod(copy, member.mode & PERMISSIONS)
            os.utime(copy, ns=_times(member))

        replace_file(self.target / path, fill)

    def _hard_link(self, path: str, member: tarfile.TarInfo) -> None:
        first = self._path(member, member.linkname)
        if self.meter.leaves_out(first):
            self.meter.skip(path)
            return
        there = self.target / first
        if posixpath.dirname(first) not in self.folders or not os.path.lexists(there):
            raise _refusal(member, f"is a link to {member.linkname!r}, which did not come before")
        # Counted as a file of its own, which it is to whoever copies it on.
        self.meter.data(there.lstat().st_size)
        replace_entry(self.target / path, lambda new: os.link(there, new, follow_symlinks=False))


def _refusal(member: tarfile.TarInfo, why: str) -> EnvironmentFailed:
    return EnvironmentFailed(f"member {member.name!r} of the archive {why}")


def _times(member: tarfile.TarInfo) -> tuple[int, int]:
    seconds = member.mtime
    usable = math.isfinite(seconds) and 0 <= seconds < _LATEST
    nanoseconds = int(seconds * 10**9) if usable else 0
    return nanoseconds, nanoseconds
