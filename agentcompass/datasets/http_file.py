"""One file by HTTP: continued where it broke off, and compared with its pinned size and SHA-256."""

import logging
import math
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

import attrs
import httpx
import trio

from agentcompass.datasets.check import sha256_of
from agentcompass.datasets.part import Part
from agentcompass.errors import DataUnavailable
from agentcompass.records.data_set import DataFile

# A server that is silent for so long is tried again.
_SILENCE_SECONDS = 60.0
_TRY_AGAIN = frozenset({408, 416, 425, 429, 500, 502, 503, 504})
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")

log = logging.getLogger(__name__)


class _Interrupted(Exception):
    """An answer that did not bring the rest; the next one may."""


@attrs.frozen(kw_only=True)
class Download:
    """One file to fetch into `folder`; `progress` is told how many of its bytes are there.

    `pauses` are the seconds between tries of which none brings anything.
    """

    file: DataFile
    folder: Path
    progress: Callable[[int], None]
    pauses: Sequence[float]


def client() -> httpx.AsyncClient:
    """A client that follows redirects and gives up on a server that has gone silent."""
    return httpx.AsyncClient(follow_redirects=True, timeout=_SILENCE_SECONDS)


async def fetch_file(client: httpx.AsyncClient, download: Download) -> None:
    """Fetch one file; what was there of it is used. Raises `DataUnavailable` and `OSError`."""
    file = download.file
    target = download.folder / file.name
    if await trio.to_thread.run_sync(_is_there, target, file):
        return
    part = Part(target)
    with closing(part):
        await trio.to_thread.run_sync(part.open)
        await _fill(client, download, part)
        if part.sha256 != file.sha256 and part.is_continued:  # its beginning may be another file's
            part.restart()
            await _fill(client, download, part)
        if part.sha256 != file.sha256:
            part.discard()
            raise DataUnavailable(
                f"{file.url} has the SHA-256 {part.sha256}, and {file.sha256} is pinned:"
                " it was changed, there or on its way; nothing of it was kept"
            )
        await trio.to_thread.run_sync(part.complete)


def _is_there(target: Path, file: DataFile) -> bool:
    return target.is_file() and sha256_of(target) == file.sha256


async def _fill(client: httpx.AsyncClient, download: Download, part: Part) -> None:
    """Ask until all is there, or until the last pause brought nothing."""
    pauses = list(download.pauses)
    while part.size < download.file.size:
        before = part.size
        try:
            await _ask(client, download, part)
        except (httpx.ConnectError, httpx.UnsupportedProtocol, httpx.TooManyRedirects) as error:
            raise DataUnavailable(f"{download.file.url}: {_reason(error)}") from error
        except (httpx.TransportError, _Interrupted) as error:
            pauses = list(download.pauses) if part.size > before else pauses
            await _pause(download, part, pauses, _reason(error))


async def _pause(download: Download, part: Part, pauses: list[float], reason: str) -> None:
    file = download.file
    so_far = f"{file.url}: {reason}, with {part.size} of {file.size} bytes here"
    if not pauses:
        raise DataUnavailable(f"{so_far}; the next try goes on from there")
    log.warning("%s; trying again in %g s", so_far, pauses[0])
    await trio.sleep(pauses.pop(0))


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


async def _ask(client: httpx.AsyncClient, download: Download, part: Part) -> None:
    async with client.stream("GET", download.file.url, headers=_wanted(part)) as response:
        _settle(response, download.file, part)
        async with _blocks(response) as blocks:
            async for block in blocks:
                if part.size + len(block) > download.file.size:
                    part.restart()
                    raise _wrong_size(download.file, "more")
                await trio.to_thread.run_sync(part.append, block)
                download.progress(part.size)
    if part.size < download.file.size:
        raise _Interrupted("the answer ended early")


@asynccontextmanager
async def _blocks(response: httpx.Response) -> AsyncIterator[AsyncIterator[bytes]]:
    """The body as it comes: blocks of a fixed size would lose what a cut connection leaves over.

    Where it is left before its end, the generators below are ended too, which httpx leaves to the
    collection of garbage.
    """
    blocks = response.aiter_raw()
    try:
        yield blocks
    finally:
        await response.aclose()
        with suppress(httpx.HTTPError, httpx.StreamError, StopAsyncIteration):
            await anext(blocks)


def _wanted(part: Part) -> dict[str, str]:
    headers = {"Accept-Encoding": "identity"}  # the bytes as they are pinned
    if part.size:
        headers["Range"] = f"bytes={part.size}-"
        if part.validator:
            headers["If-Range"] = part.validator
    return headers


def _settle(response: httpx.Response, file: DataFile, part: Part) -> None:
    """Have `part` end where the body of this answer begins."""
    status = response.status_code
    if status == httpx.codes.PARTIAL_CONTENT:
        _continue(response, file, part)
        return
    if status in _TRY_AGAIN:
        if status == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
            part.restart()
        raise _Interrupted(f"the server answers {status}")
    if status != httpx.codes.OK:
        raise DataUnavailable(f"{file.url}: the server answers {status} {response.reason_phrase}")
    size = response.headers.get("Content-Length", "")
    if size.isdecimal() and int(size) != file.size:
        raise _wrong_size(file, size)
    part.restart(_validator(response))


def _continue(response: httpx.Response, file: DataFile, part: Part) -> None:
    found = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if found is None or int(found[1]) != part.size:
        part.restart()
        raise _Interrupted("the server sends another part than was asked for")
    if found[2] != "*" and int(found[2]) != file.size:
        part.restart()
        raise _wrong_size(file, found[2])
    part.is_continued = True


def _wrong_size(file: DataFile, size: str) -> DataUnavailable:
    return DataUnavailable(f"{file.url} has {size} bytes, and {file.size} are pinned")


def _validator(response: httpx.Response) -> str:
    """What names these very bytes: a strong ETag, else the date; ASCII, or nothing."""
    tag: str = response.headers.get("ETag", "")
    if tag.startswith('"'):
        return tag if tag.isascii() else ""
    date: str = response.headers.get("Last-Modified", "")
    return date if date.isascii() else ""


def reporter(what: str, total: int) -> Callable[[int], None]:
    """Logs how far a download is, every few seconds on trio's clock."""
    last = -math.inf

    def report(size: int) -> None:
        nonlocal last
        if trio.current_time() - last >= 5 or size == total:
            last = trio.current_time()
            log.info("%s: %d of %d bytes (%d %%)", what, size, total, 100 * size // max(1, total))

    return report
