"""Files of one container over the archives of the Engine API: one streamed tar per direction."""

import base64
import json
import posixpath
import tarfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO, cast

import attrs
import trio
from trio.from_thread import check_cancelled

from agentcompass.environments._copy import PERMISSIONS
from agentcompass.environments._docker_engine import Engine, EngineRefused
from agentcompass.environments._docker_pulled import Pulled, only_file
from agentcompass.environments._docker_sent import Sent
from agentcompass.environments._tar import unpack
from agentcompass.environments._tar_pack import pack
from agentcompass.errors import EnvironmentFailed
from agentcompass.records.environment import Transfer, TransferLimits

_FOLDER_MODE = 0o755
# What the kernel mounts for each container; the engine reads and writes what lies beneath.
_HIDDEN = ("dev", "proc", "sys")
_END = bytes(2 * tarfile.BLOCKSIZE)
# How Go writes the kinds of files into a mode (package io/fs, FileMode).
_IS_FOLDER, _IS_LINK = 1 << 31, 1 << 27
_KINDS = _IS_FOLDER | _IS_LINK | 1 << 26 | 1 << 25 | 1 << 24 | 1 << 21 | 1 << 19


@attrs.frozen
class PathStat:
    """What is at a path; `leads_to` is where a link ends, inside the container."""

    mode: int
    leads_to: str

    @property
    def is_folder(self) -> bool:
        """A folder, and no link to one."""
        return bool(self.mode & _IS_FOLDER)

    @property
    def is_file(self) -> bool:
        """A regular file."""
        return not self.mode & _KINDS


@attrs.frozen(eq=False)
class Files:
    """The files of container `name`. Paths are absolute; what is made belongs to `owner`."""

    engine: Engine
    name: str
    owner: tuple[int, int] = (0, 0)

    @property
    def _url(self) -> str:
        return f"/containers/{self.name}/archive"

    async def stat(self, path: str) -> PathStat | None:
        """What is at `path`, None where there is nothing; `EngineRefused` without a container."""
        try:
            async with self.engine.stream("HEAD", self._url, query={"path": path}) as response:
                told = response.headers["X-Docker-Container-Path-Stat"]
        except EngineRefused as error:
            # The body of a HEAD is empty: a path below a file is a fault of 500 to the engine, and
            # whether it is the container that is missing tells only its root.
            if path == "/" or error.status not in (404, 500):
                raise
            await self.stat("/")
            return None
        found = json.loads(base64.b64decode(told))
        return PathStat(found["mode"], found["linkTarget"])

    async def exists(self, *paths: str) -> str | None:
        """The first of `paths` at which there is something."""
        for path in paths:
            if await self.stat(path) is not None:
                return path
        return None

    async def read(self, path: str) -> bytes:
        """The bytes of a regular file; a link is followed."""
        path, found = await self._located(path)
        if not found.is_file:
            raise EnvironmentFailed(f"{path!r} is not a regular file")
        async with self._archive(path) as stream:
            return await trio.to_thread.run_sync(only_file, stream)

    async def download(
        self, source: str, target: Path, *, exclude: Sequence[str], limits: TransferLimits | None
    ) -> Transfer:
        """Copy a file, or the contents of a folder; a link to either is followed."""
        path, found = await self._located(source)
        if not (found.is_file or found.is_folder):
            raise EnvironmentFailed(f"{source!r} is neither a file nor a folder")
        root = posixpath.basename(path) or "."

        def work(stream: BinaryIO) -> Transfer:
            target.parent.mkdir(parents=True, exist_ok=True)
            return unpack(
                stream, target, root=root, exclude=exclude, limits=limits, check=check_cancelled
            )

        async with self._archive(path) as stream:
            try:
                return await trio.to_thread.run_sync(work, stream)
            except OSError as error:
                raise EnvironmentFailed(f"download of {source!r} failed: {error}") from error

    async def upload(self, source: Path, target: str) -> None:
        """Copy a file, or the contents of a folder into one; parents are made."""
        is_folder = await trio.to_thread.run_sync(source.is_dir)
        if not is_folder and not await trio.to_thread.run_sync(source.is_file):
            raise EnvironmentFailed(f"{str(source)!r} is not there to be uploaded")
        base, name, folders = await self._place(target, is_folder=is_folder)
        packed = pack(source, name=name, owner=self.owner, check=check_cancelled)
        await self._put(base, chain(folders, packed), target)

    async def write(self, path: str, data: bytes, mode: int) -> None:
        """Write one file, parents made."""
        base, name, folders = await self._place(path, is_folder=False)
        await self._put(base, chain(folders, self._file(name, data, mode)), path)

    async def make_folder(self, path: str) -> None:
        """Make a folder and its parents, where they are missing."""
        base, name, folders = await self._place(path, is_folder=True)
        if name != ".":
            await self._put(base, chain(folders, [self._folder(name), _END]), path)

    async def give_folder(self, path: str) -> None:
        """As `make_folder`; one that is there already is given to `owner` too."""
        parent, name = posixpath.split(path)
        await self.make_folder(parent)
        await self._put(parent, iter([self._folder(name), _END]), path)

    async def _located(self, path: str) -> tuple[str, PathStat]:
        found = await self.stat(path)
        if found is not None and found.mode & _IS_LINK:
            path = found.leads_to
            found = await self.stat(path)
        _refuse_hidden(path)
        if found is None:
            raise FileNotFoundError(f"there is no {path!r}")
        return path, found

    async def _leads_to(self, link: str) -> tuple[str, PathStat]:
        try:
            return await self._located(link)
        except FileNotFoundError as error:
            raise EnvironmentFailed(f"nothing can be put below {link!r}: {error}") from error

    async def _place(self, target: str, *, is_folder: bool) -> tuple[str, str, Iterator[bytes]]:
        """An existing folder, the name of `target` in it, and what has to be made between them."""
        _refuse_hidden(target)
        base, missing = target, list[str]()
        while (found := await self.stat(base)) is None:
            missing.insert(0, posixpath.basename(base))
            base = posixpath.dirname(base)
        if found.mode & _IS_LINK and (missing or is_folder):
            base, found = await self._leads_to(base)
        if missing or is_folder:
            if not found.is_folder:
                raise EnvironmentFailed(f"{target!r} cannot be made: {base!r} is not a folder")
        elif found.is_folder:
            raise EnvironmentFailed(f"{target!r} is a folder, and is not replaced by a file")
        else:
            base, missing = posixpath.split(base)[0], [posixpath.basename(base)]
        paths = [posixpath.join(*missing[:count]) for count in range(1, len(missing))]
        name = posixpath.join(*missing) if missing else "."
        return base, name, iter([self._folder(path) for path in paths])

    async def _put(self, base: str, pieces: Iterator[bytes], target: str) -> None:
        sent = Sent(pieces)
        try:
            await self.engine.call(
                "PUT",
                self._url,
                query={"path": base, "noOverwriteDirNonDir": "1"},
                content=sent,
            )
        except (OSError, EngineRefused) as error:
            raise EnvironmentFailed(f"nothing can be put to {target!r}: {error}") from error
        finally:
            await trio.to_thread.run_sync(sent.close)

    @asynccontextmanager
    async def _archive(self, path: str) -> AsyncIterator[BinaryIO]:
        """The archive of `path`, to be read in a worker thread."""
        async with self.engine.stream("GET", self._url, query={"path": path}) as response:
            async with aclosing(self.engine.pieces(response)) as pieces:
                yield cast(BinaryIO, Pulled(pieces))

    def _folder(self, name: str) -> bytes:
        info = tarfile.TarInfo(name)
        info.type, info.mode = tarfile.DIRTYPE, _FOLDER_MODE
        return self._header(info)

    def _file(self, name: str, data: bytes, mode: int) -> Iterator[bytes]:
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(data), mode & PERMISSIONS
        yield self._header(info)
        yield data
        yield bytes(-len(data) % tarfile.BLOCKSIZE)
        yield _END

    def _header(self, info: tarfile.TarInfo) -> bytes:
        info.uid, info.gid = self.owner
        info.mtime = int(time.time())
        return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


def _refuse_hidden(path: str) -> None:
    if path.split("/")[1] in _HIDDEN:
        raise EnvironmentFailed(
            f"{path!r} is out of the archives' reach: let a command copy it to or from elsewhere"
        )
