"""The folder that an image is built from, as far as its .dockerignore lets the engine see it."""

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import attrs
from docker.utils.build import exclude_paths

from agentcompass.as_owner import open_as_owner
from agentcompass.environments._copy import CHUNK_BYTES
from agentcompass.environments._tar_pack import pack
from agentcompass.environments._transfer import Check


@attrs.frozen
class Context:
    """The `paths` below `folder` that an image may depend on, sorted; `digest` is of them all."""

    folder: Path
    paths: tuple[str, ...]
    digest: str

    def packed(self, check: Check) -> Iterator[bytes]:
        """A tar archive of it, in pieces, as `pack` makes them. Blocking; raises `OSError`."""
        return pack(self.folder, name="", paths=self.paths, check=check)


def read_context(folder: Path, dockerfile: str, *, salt: str, check: Check) -> Context:
    """The context in `folder`; what is ignored is not read, and nothing is held in memory.

    Blocking; `check` is called before each piece and may raise to break off. `salt` is what else
    the image depends on. Raises `OSError`, and `UnicodeDecodeError` for a .dockerignore.
    """
    paths = tuple(sorted(exclude_paths(str(folder), _ignored(folder), dockerfile=dockerfile)))
    found = hashlib.sha256(f"{dockerfile}\0{salt}".encode())
    for path in paths:
        for piece in _told(folder / path, path):
            check()
            found.update(piece)
    return Context(folder, paths, found.hexdigest()[:16])


def _ignored(folder: Path) -> list[str]:
    try:
        lines = (folder / ".dockerignore").read_text().splitlines()
    except FileNotFoundError:
        return []
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def _told(path: Path, name: str) -> Iterator[bytes]:
    found = path.lstat()
    yield b"\0%s\0%d\0" % (os.fsencode(name), found.st_mode)
    if stat.S_ISLNK(found.st_mode):
        yield os.fsencode(path.readlink())
    elif stat.S_ISREG(found.st_mode):
        yield b"%d\0" % found.st_size
        with os.fdopen(open_as_owner(path), "rb", buffering=0) as file:
            while piece := file.read(CHUNK_BYTES):
                yield piece
