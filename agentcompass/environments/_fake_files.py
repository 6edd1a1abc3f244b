"""The files of a fake session: a tree in memory, with folders, modes and links."""

import os
import posixpath
import stat
from collections.abc import Sequence
from pathlib import Path

import attrs

from agentcompass.environments._copy import write_file, write_link
from agentcompass.environments._transfer import Meter
from agentcompass.errors import EnvironmentFailed
from agentcompass.records.environment import Transfer, TransferLimits


@attrs.frozen
class FakeEntry:
    """A file, a folder (`data` is None) or a link (`leads_to` is its text)."""

    data: bytes | None
    mode: int
    leads_to: str | None = None

    @property
    def is_folder(self) -> bool:
        """Whether other entries lie below it."""
        return self.data is None and self.leads_to is None


@attrs.define(eq=False)
class FakeFiles:
    """Entries by absolute path; relative paths are relative to `workdir`."""

    workdir: str
    entries: dict[str, FakeEntry] = attrs.field(factory=dict)

    def write(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Make or replace a file, parents made; `EnvironmentFailed` where a file is above it."""
        self._put(self._absolute(path), FakeEntry(data, mode))

    def read(self, path: str) -> bytes:
        """The bytes of a file, links followed; `FileNotFoundError` where there is none."""
        found = self.entries.get(self._followed(path))
        if found is None:
            raise FileNotFoundError(f"there is no {path!r}")
        if found.data is None:
            raise EnvironmentFailed(f"read of {path!r} failed: it is not a regular file")
        return found.data

    def upload(self, source: Path, target: str) -> None:
        """Take in a host file, or the contents of a host folder; reads it at once."""
        if not source.exists():
            raise EnvironmentFailed(f"{str(source)!r} is not there to be uploaded")
        top = self._absolute(target)
        self._put(top, _entry_of(source.resolve()))
        for folder, folders, files in os.walk(source):
            for name in (*folders, *files):
                path = Path(folder, name)
                if path.is_symlink() or path.is_file() or path.is_dir():
                    self._put(posixpath.join(top, path.relative_to(source)), _entry_of(path))

    def download(
        self,
        source: str,
        target: Path,
        *,
        exclude: Sequence[str] = (),
        limits: TransferLimits | None = None,
    ) -> Transfer:
        """Write a file, or the contents of a folder, to the host at once."""
        top, meter = self._followed(source), Meter(_go_on, exclude, limits)
        found = self.entries.get(top)
        if found is None:
            raise FileNotFoundError(f"there is no {source!r}")
        if found.is_folder:
            _write(found, target)
            self._download_below(f"{top}/", target, meter)
        elif not meter.leaves_out(posixpath.basename(source)):
            _write_counted(found, target, meter)
        return meter.transfer()

    def _download_below(self, top: str, target: Path, meter: Meter) -> None:
        for path, entry in sorted(self.entries.items()):
            name = path.removeprefix(top)
            if path.startswith(top) and not meter.leaves_out(name):
                _write_counted(entry, target / name, meter)

    def _put(self, path: str, entry: FakeEntry) -> None:
        for parent in _parents(path):
            above = self.entries.setdefault(parent, FakeEntry(None, 0o755))
            if not above.is_folder:
                raise EnvironmentFailed(f"{path!r} cannot be written: {parent!r} is not a folder")
        there = self.entries.get(path)
        if there is not None and there.is_folder:
            if not entry.is_folder:
                raise EnvironmentFailed(f"{path!r} cannot be written: it is a folder")
            return
        self.entries[path] = entry

    def _absolute(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(self.workdir, path))

    def _followed(self, path: str) -> str:
        absolute = self._absolute(path)
        for _ in range(40):  # as many links in a row as Linux follows
            entry = self.entries.get(absolute)
            if entry is None or entry.leads_to is None:
                break
            absolute = posixpath.normpath(
                posixpath.join(posixpath.dirname(absolute), entry.leads_to)
            )
        return absolute


def _parents(path: str) -> list[str]:
    parts = path.strip("/").split("/")
    return ["/" + "/".join(parts[:count]) for count in range(1, len(parts))]


def _entry_of(path: Path) -> FakeEntry:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return FakeEntry(None, 0o777, str(path.readlink()))
    return FakeEntry(path.read_bytes() if stat.S_ISREG(mode) else None, stat.S_IMODE(mode))


def _go_on() -> None:
    """Nothing breaks off what takes no time."""


def _write_counted(entry: FakeEntry, target: Path, meter: Meter) -> None:
    meter.entry()
    meter.data(len(entry.data or b""))
    _write(entry, target)


def _write(entry: FakeEntry, target: Path) -> None:
    if entry.leads_to is not None:
        write_link(target, entry.leads_to)
    elif entry.data is not None:
        write_file(target, entry.data, entry.mode)
    else:
        target.mkdir(parents=True, exist_ok=True)
        target.chmod(entry.mode | stat.S_IRWXU)
