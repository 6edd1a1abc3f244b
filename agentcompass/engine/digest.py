"""The digest of a collected file or folder, as the manifest's `sha256` (docs/run-directory.md)."""

import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Literal

import attrs


@attrs.frozen(kw_only=True)
class Digest:
    """What was found: the digest, bytes in regular files, and how many regular files."""

    kind: Literal["file", "directory"]
    sha256: str
    size_bytes: int
    file_count: int


def digest_tree(path: Path) -> Digest:
    """Digest a file, or a folder over its entries in sorted order; blocking.

    Each entry adds the compact JSON of [relative name, mode & 0o777, size or null] and then
    `file:` and the bytes, `dir:`, or `link:` and the target.
    """
    digest = hashlib.sha256()
    size = files = 0
    if path.is_dir() and not path.is_symlink():
        members = sorted((entry.relative_to(path).as_posix(), entry) for entry in path.rglob("*"))
        kind: Literal["file", "directory"] = "directory"
    else:
        members, kind = [(path.name, path)], "file"
    for name, entry in members:
        added = _add(digest, name, entry)
        if added is not None:
            size, files = size + added, files + 1
    return Digest(kind=kind, sha256=digest.hexdigest(), size_bytes=size, file_count=files)


def _add(digest: "hashlib._Hash", name: str, entry: Path) -> int | None:
    status = entry.lstat()
    is_file = stat.S_ISREG(status.st_mode)
    header = [name, status.st_mode & 0o777, status.st_size if is_file else None]
    digest.update(
        json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode(
            errors="surrogateescape"
        )
    )
    if stat.S_ISLNK(status.st_mode):
        digest.update(b"link:" + os.fsencode(entry.readlink()))
    elif is_file:
        digest.update(b"file:")
        with entry.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    else:
        digest.update(b"dir:")
    return status.st_size if is_file else None
