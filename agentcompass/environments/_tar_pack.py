"""Packing a file or a folder as a tar archive, piece by piece."""

import os
import posixpath
import stat
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from agentcompass.as_owner import AsOwner, open_as_owner
from agentcompass.environments._copy import CHUNK_BYTES, PERMISSIONS
from agentcompass.environments._transfer import Check


def pack(
    source: Path,
    *,
    name: str = ".",
    owner: tuple[int, int] = (0, 0),
    paths: Iterable[str] | None = None,
    check: Check,
) -> Iterator[bytes]:
    """The archive, in pieces, of a file or of a folder and its contents, called `name` in it;
    with `paths` of these only, which are relative to the folder.

    Blocking; `check` is called before each piece and may raise to break off. Modes and times are
    kept, everything belongs to `owner` (user id, group id), links stay links, special files are
    passed over. A file that changes meanwhile is cut, or filled up with zeros, to the size that it
    had. Raises `OSError`.
    """
    source = Path(os.path.realpath(source, strict=True))
    with AsOwner() as lent:
        for path in _walk(source, lent) if paths is None else paths:
            info = tarfile.TarInfo(posixpath.join(name, path) if path else name)
            info.uid, info.gid = owner
            for piece in _member(source / path, info):
                check()
                yield piece
    yield bytes(2 * tarfile.BLOCKSIZE)


def _walk(top: Path, owner: AsOwner) -> Iterator[str]:
    """The paths below `top`, and the empty one first; folders before what they hold."""
    yield ""
    waiting = [""] if top.is_dir() else []
    while waiting:
        path = waiting.pop()
        owner.lend(top / path)
        with os.scandir(top / path) as entries:
            for entry in entries:
                name = posixpath.join(path, entry.name)
                yield name
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(name)


def _member(path: Path, info: tarfile.TarInfo) -> Iterator[bytes]:
    found = path.lstat()
    info.mode, info.mtime = found.st_mode & PERMISSIONS, int(found.st_mtime)
    if stat.S_ISDIR(found.st_mode):
        info.type = tarfile.DIRTYPE
        yield _header(info)
    elif stat.S_ISLNK(found.st_mode):
        info.type, info.linkname = tarfile.SYMTYPE, str(path.readlink())
        yield _header(info)
    elif stat.S_ISREG(found.st_mode):
        with os.fdopen(open_as_owner(path), "rb", buffering=0) as file:
            info.size = os.fstat(file.fileno()).st_size
            yield _header(info)
            yield from _exactly(file, info.size)
            yield bytes(-info.size % tarfile.BLOCKSIZE)


def _header(info: tarfile.TarInfo) -> bytes:
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


def _exactly(file: IO[bytes], size: int) -> Iterator[bytes]:
    while size:
        wanted = min(CHUNK_BYTES, size)
        data = file.read(wanted) or bytes(wanted)
        size -= len(data)
        yield data
