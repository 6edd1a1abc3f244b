"""One HTTP answer read to its end: a body, or a stream of events put together to one."""

import zlib
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import httpx
import trio

from agentcompass.errors import ModelFailed
from agentcompass.models._dialect import Assembler
from agentcompass.models._events import EventReader
from agentcompass.models._faults import Redactor
from agentcompass.models._head import Head
from agentcompass.models._reading import Unusable, encode, parse
from agentcompass.models._transport import Lease

_LIMIT = 64 * 2**20  # bytes of one answer, unpacked
_TAIL = 1.0  # seconds that a server has to end a stream after its last event


@attrs.frozen(kw_only=True)
class Answer:
    """What came back; `partial` is the text of a stream, `broken` why it did not come whole."""

    head: Head
    body: bytes
    partial: str = ""
    broken: str = ""
    streamed: bool = False

    def content(self) -> Mapping[str, Any]:
        """The body as a JSON object, empty where half of it is missing; raises `Unusable`."""
        return {} if self.broken and not self.streamed else parse(self.body)


async def post(
    lease: Lease, request: bytes, assembler: Callable[[], Assembler], redact: Redactor
) -> Answer:
    """Send a request and read its answer; raises `ModelFailed` where there is none at all."""
    try:
        head = await lease.ask(request)
    except httpx.HTTPError as error:
        raise ModelFailed(redact(f"model call: {error}")) from error
    kind = head.get(b"content-type") or ""
    if head.status == httpx.codes.OK and kind.startswith("text/event-stream"):
        return await _read_stream(lease, head, assembler())
    return await _read_body(lease, head)


async def _read_body(lease: Lease, head: Head) -> Answer:
    pieces: list[bytes] = []
    broken = ""
    try:
        await _read(lease, head, pieces.append)
    except httpx.HTTPError as error:
        broken = str(error)
    return Answer(head=head, body=b"".join(pieces), broken=broken)


async def _read_stream(lease: Lease, head: Head, assembler: Assembler) -> Answer:
    broken = ""
    try:
        await _assemble(lease, head, assembler)
        if not (assembler.ended or assembler.usable):
            broken = "the stream ended before its last event"
    except (httpx.HTTPError, Unusable) as error:
        broken = str(error)
    return Answer(
        head=head,
        body=encode(assembler.body),
        partial=assembler.text,
        broken="" if assembler.ended else broken,
        streamed=True,
    )


async def _assemble(lease: Lease, head: Head, assembler: Assembler) -> None:
    events = EventReader()

    def take(piece: bytes) -> None:
        for data in events.feed(piece):
            _add(assembler, data)
        if assembler.ended:
            # Read to the end, so that the connection can be used again, but not for long.
            scope.deadline = min(scope.deadline, trio.current_time() + _TAIL)

    with trio.CancelScope() as scope:
        await _read(lease, head, take)
    for data in events.close():
        _add(assembler, data)


def _add(assembler: Assembler, data: str) -> None:
    if data.strip() == "[DONE]":
        assembler.end()
    elif not assembler.ended:
        assembler.add(parse(data, "an event of the stream"))


async def _read(lease: Lease, head: Head, take: Callable[[bytes], None]) -> None:
    unpack, size = unpacker(head.get(b"content-encoding") or ""), 0
    while (packed := await lease.data()) is not None:
        piece = unpack(packed)
        size += len(piece)
        if size > _LIMIT:
            raise httpx.ReadError(f"the answer is larger than {_LIMIT} bytes")
        take(piece)


def unpacker(encoding: str) -> Callable[[bytes], bytes]:
    """What undoes a content encoding, which nobody asked for, piece by piece."""
    if encoding.strip().lower() in {"", "identity"}:
        return bytes
    if encoding.strip().lower() not in {"gzip", "x-gzip", "deflate"}:
        raise httpx.DecodingError(f"the answer is packed with {encoding}, which nobody asked for")
    inflater = zlib.decompressobj(zlib.MAX_WBITS | 32)

    def unpack(piece: bytes) -> bytes:
        try:
            return inflater.decompress(piece)
        except zlib.error as error:
            raise httpx.DecodingError(f"the answer is not packed as it says: {error}") from error

    return unpack
