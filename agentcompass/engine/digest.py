"""The digest of a collected file or folder, as the manifest's `sha256` (docs/run-directory.md)."""

import hashlib
import json
import os
import posixpath
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import attrs

from agentcompass.as_owner import AsOwner, open_as_owner

# Sees the contents of a file go by, piece by piece, and hands them on.
Watch = Callable[[Path, Iterator[bytes]], Iterator[bytes]]

_CHUNK_BYTES = 1 << 20


@attrs.frozen(kw_only=True)
class Digest:
    """What was found: the digest, bytes in regular files, and how many regular files."""

    kind: Literal["file", "directory"]
    sha256: str
    size_bytes: int
    file_count: int


def unwatched(_file: Path, blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Hand the contents on."""
    return blocks


def go_on() -> None:
    """Nothing breaks off."""


def digest_tree(
    path: Path, *, check: Callable[[], None] = go_on, watch: Watch = unwatched
) -> Digest:
    """Digest a file, or a folder over its entries in sorted order. Blocking; raises `OSError`.

    Each entry adds the compact JSON of [relative name, mode & 0o777, size or null] and then
    `file:` and the bytes, `dir:`, or `link:` and the target. No link is followed, and what its
    owner may not read is read. `check` is called again and again and may raise to break off.
    """
    digest = hashlib.sha256()
    size = files = 0
    with AsOwner() as owner:
        top = path.lstat()
        is_folder = stat.S_ISDIR(top.st_mode)
        members = sorted(_below(path, owner, check)) if is_folder else [(path.name, path, top)]
        for name, entry, found in members:
            digest.update(_header(name, found))
            if stat.S_ISREG(found.st_mode):
                size, files = size + found.st_size, files + 1
            for block in _contents(entry, found, watch):
                check()
                digest.update(block)
    kind: Literal["file", "directory"] = "directory" if is_folder else "file"
    return Digest(kind=kind, sha256=digest.hexdigest(), size_bytes=size, file_count=files)


def _below(
    top: Path, owner: AsOwner, check: Callable[[], None]
) -> Iterator[tuple[str, Path, os.stat_result]]:
    """Every entry: its relative name, its path, and what it was before anything was lent."""
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        owner.lend(top / folder)
        with os.scandir(top / folder) as entries:
            for entry in entries:
                check()
                name = posixpath.join(folder, entry.name)
                found = entry.stat(follow_symlinks=False)
                yield name, top / name, found
                if stat.S_ISDIR(found.st_mode):
                    waiting.append(name)


def _header(name: str, found: os.stat_result) -> bytes:
    size = found.st_size if stat.S_ISREG(found.st_mode) else None
    header = json.dumps(
        [name, found.st_mode & 0o777, size], separators=(",", ":"), ensure_ascii=False
    )
    return header.encode(errors="surrogateescape")


def _contents(entry: Path, found: os.stat_result, watch: Watch) -> Iterator[bytes]:
    if stat.S_ISLNK(found.st_mode):
        yield b"link:" + os.fsencode(entry.readlink())
    elif stat.S_ISREG(found.st_mode):
        yield b"file:"
        with os.fdopen(open_as_owner(entry), "rb", buffering=0) as file:
            yield from watch(entry, iter(lambda: file.read(_CHUNK_BYTES), b""))
    else:
        yield b"dir:"
