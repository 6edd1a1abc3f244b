"""What the Docker Engine sends, read in worker threads while it comes."""

import tarfile
from collections.abc import AsyncIterator
from typing import BinaryIO

import attrs
import trio

from agentcompass.environments._docker_sent import BATCH_BYTES
from agentcompass.errors import EnvironmentFailed


@attrs.define(eq=False)
class Pulled:
    """A stream of trio's as a file for a worker thread, which pulls some of it at a time."""

    pieces: AsyncIterator[bytes]
    _rest: memoryview = attrs.field(default=memoryview(b""), init=False)

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes, empty at the end."""
        if not self._rest:
            self._rest = memoryview(trio.from_thread.run(self._pull))
        data = bytes(self._rest[:size])
        self._rest = self._rest[size:]
        return data

    async def _pull(self) -> bytes:
        batch = bytearray()
        async for piece in self.pieces:
            batch += piece
            if len(batch) >= BATCH_BYTES:
                break
        return bytes(batch)


def only_file(stream: BinaryIO) -> bytes:
    """The contents of the one file of an archive; `EnvironmentFailed` where it is cut short."""
    try:
        return _contents(stream)
    except tarfile.TarError as error:
        raise EnvironmentFailed(f"the Docker Engine sent no whole file: {error}") from error


def _contents(stream: BinaryIO) -> bytes:
    with tarfile.open(mode="r|", fileobj=stream) as archive:
        member = archive.next()
        contents = archive.extractfile(member) if member is not None else None
        if contents is None:
            raise EnvironmentFailed("the Docker Engine sent no file")
        return contents.read()
