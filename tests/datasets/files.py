"""A server of one file, as hubs are: with ranges, validators, redirects, and every way to fail."""

import hashlib
from pathlib import Path

import h11

from agentcompass.datasets.place import Place
from agentcompass.records.data_set import DataFile, DataSet
from tests.loopback import Act, Exchange

ROWS = b"".join(b'{"row": %d}\n' % number for number in range(20_000))


def place(data_dir: Path, url: str, *, data: bytes = ROWS, name: str = "rows.jsonl") -> Place:
    """The data set `toys`, of one file with `data` that is at `url`."""
    sha256 = hashlib.sha256(data).hexdigest()
    file = DataFile(name=name, url=url, sha256=sha256, size=len(data))
    return Place(data_dir=data_dir, data_set=data_set(file))


def data_set(*files: DataFile) -> DataSet:
    return DataSet(
        id="toys",
        title="Toys",
        homepage="http://toys.example",
        licence="CC0-1.0",
        source=files,
        revision="7",
        size=sum(file.size for file in files),
        looks_for="rows.jsonl",
    )


def served(data: bytes = ROWS, *, etag: str = '"one"', stop_at: int | None = None) -> Act:
    """Answer as a server with ranges does, and break off before byte `stop_at` of the file."""

    async def act(exchange: Exchange) -> None:
        start = _start(exchange, etag)
        if start >= len(data):
            await exchange.head(416, 0, {})
            await exchange.send(h11.EndOfMessage())
            return
        headers = {"ETag": etag} if etag else {}
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        await exchange.head(206 if start else 200, len(data) - start, headers)
        await exchange.send(h11.Data(data=data[start:stop_at]))
        if stop_at is None:
            await exchange.send(h11.EndOfMessage())
        else:
            await exchange.stream.aclose()

    return act


def _start(exchange: Exchange, etag: str) -> int:
    wanted = exchange.asked.headers.get("range", "")
    condition = exchange.asked.headers.get("if-range", etag)
    return int(wanted[6:].rstrip("-")) if wanted and condition == etag else 0


def redirect(target: str) -> Act:
    async def act(exchange: Exchange) -> None:
        await exchange.head(302, 0, {"Location": target})
        await exchange.send(h11.EndOfMessage())

    return act


def unsized(data: bytes) -> Act:
    """Answer in chunks, so that nobody knows how long it will be."""

    async def act(exchange: Exchange) -> None:
        await exchange.send(
            h11.Response(status_code=200, headers=[("Transfer-Encoding", "chunked")]),
            h11.Data(data=data),
            h11.EndOfMessage(),
        )

    return act
