"""Files that are replaced whole: a reader finds the old content or the new, after any crash.

Every change that the store makes to the file system goes through `Disk`, by name, so that a test
can make each one fail, or kill the process there.
"""

import errno
import os
import secrets
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import attrs

from agentcompass.errors import StoreError
from agentcompass.store.encode import NotPlain, decode, encode

StrPath = str | os.PathLike[str]

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_MOST_OPEN = 16  # files that wait to be replaced
_BLOCK = 1 << 16  # bytes that a file given in pieces is written in, at least

_numbers = count()


class Disk:
    """The file system; every method blocks, and raises `OSError` as the system does."""

    def make_folders(self, path: StrPath) -> bool:
        """Make `path` and what is missing above it; whether it was not there before."""
        try:
            os.mkdir(path)  # noqa: PTH102  # one system call, without building a Path
        except FileNotFoundError:
            self.make_folders(os.path.dirname(path))  # noqa: PTH120
            return self.make_folders(path)
        except FileExistsError:
            if not os.path.isdir(path):  # noqa: PTH112
                raise
            return False
        return True

    def claim_folder(self, path: Path) -> None:
        """Make `path`, which must not exist."""
        path.mkdir()

    def write(self, file: int, data: bytes | bytearray) -> None:
        """Write all of `data` to an open file."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(file, rest) :]

    def start_sync(self, file: int) -> None:
        """Have the system begin to write what is to be synced next; a hint, never waits.

        Of several files then the first sync waits for most of the others' work as well.
        """
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)

    def sync(self, file: int) -> None:
        """Return once what was written survives a loss of power."""
        os.fdatasync(file)

    def truncate(self, file: int, size: int) -> None:
        """Cut an open file to `size` bytes."""
        os.ftruncate(file, size)

    def rename(self, source: StrPath, target: StrPath) -> None:
        """Move a file or folder; a file at `target` is replaced, a folder with content is not."""
        os.rename(source, target)  # noqa: PTH104  # one system call, without building a Path

    def link(self, source: StrPath, target: StrPath) -> None:
        """Give a file a second name, which must not exist; its content is as durable as it was."""
        if os.path.islink(source):  # noqa: PTH114  # whose second name would lead elsewhere
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        os.link(source, target)


@attrs.frozen
class _Written:
    """What is to be the content of `path`: a temporary file beside it, still open."""

    path: StrPath
    temporary: str
    file: int


@attrs.define(eq=False)
class Replacements:
    """Files that are replaced in the order in which they were added, and what follows on that.

    None is replaced before all are on the disk, of up to 16 at once. The first sync has the file
    system write its journal for all of them, so that several take little longer than one.
    """

    disk: Disk
    _written: deque[_Written] = attrs.field(factory=deque, init=False)
    _following: list[Callable[[], None]] = attrs.field(factory=list, init=False)

    def __len__(self) -> int:
        """How many files are written and not replaced yet; each is open."""
        return len(self._written)

    @property
    def newest(self) -> int:
        """The number of the file that was opened last, of those still open; -1 where none is."""
        return self._written[-1].file if self._written else -1

    def add(self, path: StrPath, data: bytes | Iterable[bytes]) -> None:
        """Write `data`, whole or in pieces, beside `path`; the folder has to exist.

        Raises `StoreError` naming the file and the cause.
        """
        if len(self._written) >= _MOST_OPEN:
            self.sync()
            self._replace()
        with named_errors(path):
            temporary = _beside(os.fspath(path))
            self._written.append(_Written(path, temporary, os.open(temporary, _NEW, 0o666)))
            for block in (data,) if isinstance(data, bytes) else _blocks(data):
                self.disk.write(self._written[-1].file, block)

    def add_record(self, path: Path, record: Any, *, sort_keys: bool = False) -> None:
        """Write a record as JSON. Raises `StoreError`, also for what JSON has no form for."""
        with named_errors(path):
            data = encode(record, sort_keys=sort_keys)
        self.add(path, data)

    def change(self, path: Path, change: Callable[[bytes], bytes]) -> None:
        """Write what `change` makes of the content of `path`, if that differs."""
        with named_errors(path):
            before = read_file(path)
        after = change(before)
        if after != before:
            self.add(path, after)

    def then(self, step: Callable[[], None]) -> None:
        """Have `step` done once all files are replaced."""
        self._following.append(step)

    def start_sync(self) -> None:
        """Have the system begin with what `sync` waits for."""
        for each in self._written:
            with suppress(OSError):
                self.disk.start_sync(each.file)

    def sync(self) -> None:
        """Bring the new contents to the disk. Raises `StoreError` naming the file."""
        for each in self._written:
            with named_errors(each.path):
                self.disk.sync(each.file)

    def finish(self) -> None:
        """Replace the files, after `sync`, and do what follows. Raises `StoreError`."""
        self._replace()
        for step in self._following:
            step()

    def discard(self) -> None:
        """Remove what was not replaced."""
        for each in self._written:
            with suppress(OSError):
                os.close(each.file)
            with suppress(OSError):
                os.unlink(each.temporary)  # noqa: PTH108  # a string already
        self._written.clear()

    def _replace(self) -> None:
        while self._written:
            each = self._written[0]
            with named_errors(each.path):
                self.disk.rename(each.temporary, each.path)
                self._written.popleft()
                os.close(each.file)


def _beside(path: str) -> str:
    """A name that nobody else takes, in the folder of `path`.

    Hidden and with a suffix of its own: no reader takes what a crash leaves for a record.
    """
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}.{name}.{_process()}{next(_numbers)}.tmp"


@cache
def _process() -> str:
    # By chance, not by a process id, which the next process in a container often has as well.
    return f"{secrets.token_hex(8)}-"


def move_folder(disk: Disk, source: StrPath, target: StrPath) -> None:
    """Rename a folder, making those above `target` where they are missing.

    Raises `StoreError` naming the target.
    """
    with named_errors(target):
        try:
            disk.rename(source, target)
        except FileNotFoundError:
            disk.make_folders(os.path.dirname(target))  # noqa: PTH120
            disk.rename(source, target)


@contextmanager
def replacing(disk: Disk) -> Iterator[Replacements]:
    """Files to be replaced at the end of the body; those that are not are removed."""
    files = Replacements(disk)
    try:
        yield files
        files.sync()
        files.finish()
    finally:
        files.discard()


def replace_file(disk: Disk, path: Path, data: bytes | Iterable[bytes]) -> None:
    """Make `data`, whole or in pieces, the content of `path`; the folder has to exist.

    Raises `StoreError` naming the file and the cause; `path` is then as it was before.
    """
    with replacing(disk) as files:
        files.add(path, data)


def _blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces in fewer and larger ones."""
    gathered = bytearray()
    for piece in pieces:
        gathered += piece
        if len(gathered) >= _BLOCK:
            yield bytes(gathered)
            gathered.clear()
    yield bytes(gathered)


def write_record(disk: Disk, path: Path, record: Any, *, sort_keys: bool = False) -> None:
    """Write a record as JSON. Raises `StoreError`, also for what JSON has no form for."""
    with replacing(disk) as files:
        files.add_record(path, record, sort_keys=sort_keys)


@contextmanager
def open_regular(path: Path, *, buffering: int = -1) -> Iterator[BinaryIO]:
    """A regular file to read; raises `OSError`, never waits for the writer of a pipe."""
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(number, "rb", buffering) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "is not a regular file")
        yield file


def read_file(path: StrPath) -> bytes:
    """The bytes of a regular file; raises as `open_regular` does."""
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
            raise OSError(errno.EINVAL, "is not a regular file")
        return _read_all(number, found.st_size)
    finally:
        os.close(number)


def _read_all(file: int, size: int) -> bytes:
    """What an open file of about `size` bytes holds: it may change. A folder is an `OSError`."""
    data = os.read(file, size + 1)
    if len(data) == size:
        return data
    pieces = [data]
    while piece := os.read(file, _BLOCK):
        pieces.append(piece)
    return b"".join(pieces)


def read_if_there(path: StrPath) -> bytes | None:
    """The same, or None where there is no such file; raises `StoreError` where it cannot be."""
    with named_errors(path):
        try:
            return read_file(path)
        except FileNotFoundError:
            return None


def read_record(path: Path) -> Any:
    """What the JSON file `path` holds, or None where there is no such file.

    Raises `RecordCorrupt` where it is not JSON, and `StoreError` where it cannot be read.
    """
    data = read_if_there(path)
    return None if data is None else decode(data, source=str(path))


class named_errors:  # reads as what it does
    """Turn errors of the file system, and of encoding, into `StoreError`s that name the file."""

    __slots__ = ("_path",)

    def __init__(self, path: StrPath) -> None:
        self._path = path

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if isinstance(error, NotPlain):
            raise StoreError(f"{self._path}: cannot be written: {error}") from error
        if isinstance(error, OSError):
            raise StoreError(f"{self._path}: {error.strerror or error}") from error
