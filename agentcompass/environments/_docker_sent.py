"""A body for the Docker Engine that is made in worker threads while it is sent."""

from collections.abc import AsyncIterator, Generator, Iterable

import attrs
import httpx
import trio

BATCH_BYTES = 1 << 20


def _batches(pieces: Iterable[bytes]) -> Generator[bytes]:
    """The same bytes in larger pieces, so that few steps between threads are needed."""
    batch = bytearray()
    for piece in pieces:
        batch += piece
        if len(batch) >= BATCH_BYTES:
            yield bytes(batch)
            batch.clear()
    yield bytes(batch)


@attrs.define(eq=False)
class Sent(httpx.AsyncByteStream):
    """Pieces as a body. No generator, which a request that breaks off would leave open."""

    _batches: Generator[bytes] = attrs.field(converter=_batches)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if batch := await trio.to_thread.run_sync(next, self._batches, b""):
            return batch
        raise StopAsyncIteration

    def close(self) -> None:
        """Close what makes the pieces; blocking."""
        self._batches.close()
