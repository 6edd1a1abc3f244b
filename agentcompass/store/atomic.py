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
from pathlib import Path
from typing import Any, BinaryIO

import attrs

from agentcompass.errors import StoreError
from agentcompass.store.encode import NotPlain, decode, encode

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_MOST_OPEN = 16  # files that wait to be replaced
_BLOCK = 1 << 16  # bytes that a file given in pieces is written in, at least


class Disk:
    """The file system; every method blocks, and raises `OSError` as the system does."""

    def make_folders(self, path: Path) -> None:
        """Make `path` and what is missing above it."""
        path.mkdir(parents=True, exist_ok=True)

    def claim_folder(self, path: Path) -> None:
        """Make `path`, which must not exist."""
        path.mkdir()

    def write(self, file: int, data: bytes | bytearray) -> None:
        """Write all of `data` to an open file."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(file, rest) :]

    def sync(self, file: int) -> None:
        """Return once what was written survives a loss of power."""
        os.fdatasync(file)

    def truncate(self, file: int, size: int) -> None:
        """Cut an open file to `size` bytes."""
        os.ftruncate(file, size)

    def rename(self, source: Path, target: Path) -> None:
        """Move a file or folder; a file at `target` is replaced, a folder with content is not."""
        os.rename(source, target)  # noqa: PTH104  # one system call, without building a Path

    def link(self, source: Path, target: Path) -> None:
        """Give a file a second name, which must not exist; its content is as durable as it was."""
        os.link(source, target)


@attrs.frozen
class _Written:
    """What is to be the content of `path`: a temporary file beside it, still open."""

    path: Path
    temporary: Path
    file: int


@attrs.define(eq=False)
class Replacements:
    """Files that are replaced in the order in which they were added, by `commit`.

    None is replaced before all are on the disk, of up to 16 at once. The first sync has the file
    system write its journal for all of them, so that several take little longer than one.
    """

    disk: Disk
    _written: deque[_Written] = attrs.field(factory=deque, init=False)

    def add(self, path: Path, data: bytes | Iterable[bytes]) -> None:
        """Write `data`, whole or in pieces, beside `path`; the folder has to exist.

        Raises `StoreError` naming the file and the cause.
        """
        if len(self._written) >= _MOST_OPEN:
            self.commit()
        # Hidden and with a suffix of its own: no reader takes what a crash leaves for a record. By
        # chance, not by a process id, which the next process in a container often has as well.
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
        with named_errors(path):
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

    def commit(self) -> None:
        """Replace them. Raises `StoreError` naming the file whose turn it was."""
        for each in self._written:
            with named_errors(each.path):
                self.disk.sync(each.file)
        while self._written:
            each = self._written[0]
            with named_errors(each.path):
                self.disk.rename(each.temporary, each.path)
                self._written.popleft()
                os.close(each.file)

    def discard(self) -> None:
        """Remove what was not replaced."""
        for each in self._written:
            os.close(each.file)
            with suppress(OSError):
                each.temporary.unlink()


@contextmanager
def replacing(disk: Disk) -> Iterator[Replacements]:
    """Files to be replaced at the end of the body; those that are not are removed."""
    files = Replacements(disk)
    try:
        yield files
        files.commit()
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


def read_file(path: Path) -> bytes:
    """The bytes of a regular file; raises as `open_regular` does."""
    with open_regular(path, buffering=0) as file:
        return file.read()


def read_record(path: Path) -> Any:
    """What the JSON file `path` holds, or None where there is no such file.

    Raises `RecordCorrupt` where it is not JSON, and `StoreError` where it cannot be read.
    """
    with named_errors(path):
        try:
            data = read_file(path)
        except FileNotFoundError:
            return None
    return decode(data, source=str(path))


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Turn errors of the file system, and of encoding, into `StoreError`s that name the file."""
    try:
        yield
    except NotPlain as error:
        raise StoreError(f"{path}: cannot be written: {error}") from error
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error
