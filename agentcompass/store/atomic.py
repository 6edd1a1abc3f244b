"""Files that are replaced whole: a reader finds the old content or the new, after any crash.

Every change that the store makes to the file system goes through `Disk`, by name, so that a test
can make each one fail, or kill the process there.
"""

import errno
import itertools
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from agentcompass.errors import StoreError
from agentcompass.store.encode import NotPlain, decode, encode

_numbers = itertools.count(1)
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


def replace_file(disk: Disk, path: Path, data: bytes | Iterable[bytes]) -> None:
    """Make `data`, whole or in pieces, the content of `path`; the folder has to exist.

    Raises `StoreError` naming the file and the cause; `path` is then as it was before.
    """
    # Hidden and with a suffix of its own: no reader takes what a crash leaves of it for a record.
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{next(_numbers)}.tmp")
    with named_errors(path):
        try:
            _write_new(disk, temporary, data)
            disk.rename(temporary, path)
        except OSError:
            with suppress(OSError):
                temporary.unlink()
            raise


def _write_new(disk: Disk, path: Path, data: bytes | Iterable[bytes]) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        for block in (data,) if isinstance(data, bytes) else _blocks(data):
            disk.write(file, block)
        disk.sync(file)
    finally:
        os.close(file)


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
    with named_errors(path):
        data = encode(record, sort_keys=sort_keys)
    replace_file(disk, path, data)


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


def change_file(disk: Disk, path: Path, change: Callable[[bytes], bytes]) -> None:
    """Replace the content of `path` by what `change` makes of it, if that differs."""
    with named_errors(path):
        before = path.read_bytes()
    after = change(before)
    if after != before:
        replace_file(disk, path, after)
