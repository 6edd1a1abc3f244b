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
from agentcompass.models._reading import Unusable, encode, parse

_LIMIT = 64 * 2**20  # bytes of one answer, unpacked
_TAIL = 1.0  # seconds that a server has to end a stream after its last event


@attrs.frozen(kw_only=True)
class Answer:
    """What came back; `partial` is the text of a stream, `broken` why it did not come whole."""

    status: int
    headers: httpx.Headers
    body: bytes
    partial: str = ""
    broken: str = ""
    streamed: bool = False

    def content(self) -> Mapping[str, Any]:
        """The body as a JSON object, empty where half of it is missing; raises `Unusable`."""
        return {} if self.broken and not self.streamed else parse(self.body)


async def post(
    transport: httpx.AsyncBaseTransport,
    request: httpx.Request,
    assembler: Callable[[], Assembler],
    redact: Redactor,
) -> Answer:
    """Send a request and read its answer; raises `ModelFailed` where there is none at all."""
    try:
        # Not by `httpx.AsyncClient`: it adds half as much CPU again, and nothing needed here.
        response = await transport.handle_async_request(request)
    except httpx.HTTPError as error:
        raise ModelFailed(redact(f"model call: {error}")) from error
    try:
        kind = response.headers.get("content-type", "")
        if response.status_code == httpx.codes.OK and kind.startswith("text/event-stream"):
            return await _read_stream(response, assembler())
        return await _read_body(response)
    finally:
        await response.aclose()


async def _read_body(response: httpx.Response) -> Answer:
    pieces: list[bytes] = []
    broken = ""
    try:
        await _read(response, pieces.append)
    except httpx.HTTPError as error:
        broken = str(error)
    return Answer(
        status=response.status_code,
        headers=response.headers,
        body=b"".join(pieces),
        broken=broken,
    )


async def _read_stream(response: httpx.Response, assembler: Assembler) -> Answer:
    broken = ""
    try:
        await _assemble(response, assembler)
        if not (assembler.ended or assembler.usable):
            broken = "the stream ended before its last event"
    except (httpx.HTTPError, Unusable) as error:
        broken = str(error)
    return Answer(
        status=response.status_code,
        headers=response.headers,
        body=encode(assembler.body),
        partial=assembler.text,
        broken="" if assembler.ended else broken,
        streamed=True,
    )


async def _assemble(response: httpx.Response, assembler: Assembler) -> None:
    events = EventReader()

    def take(piece: bytes) -> None:
        for data in events.feed(piece):
            _add(assembler, data)
        if assembler.ended:
            # Read to the end, so that the connection can be used again, but not for long.
            scope.deadline = min(scope.deadline, trio.current_time() + _TAIL)

    with trio.CancelScope() as scope:
        await _read(response, take)
    for data in events.close():
        _add(assembler, data)


def _add(assembler: Assembler, data: str) -> None:
    if data.strip() == "[DONE]":
        assembler.end()
    elif not assembler.ended:
        assembler.add(parse(data, "an event of the stream"))


async def _read(response: httpx.Response, take: Callable[[bytes], None]) -> None:
    unpack, size = unpacker(response.headers.get("content-encoding", "")), 0
    # Not by `aiter_bytes`: it is a generator, and trio warns of one that is left before its end.
    assert isinstance(response.stream, httpx.AsyncByteStream), "our transport gives no other"
    async for packed in response.stream:
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
