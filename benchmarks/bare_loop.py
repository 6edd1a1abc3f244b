"""The same calls without an engine: what any engine on trio has to be measured by.

    python -m benchmarks.bare_loop file|h11|raw TASKS CONCURRENCY URL

So many workers with a connection each take turns from one counter. `file` writes what an engine has
to keep at least: one file for each task, by a temporary name and a rename, into the current folder.
"""

import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any
from urllib.parse import SplitResult, urlsplit

import h11
import trio

from benchmarks.question import question

Keep = Callable[[int, Mapping[str, Any]], None]
# Asks with a body and returns that of the answer.
Ask = Callable[[bytes], Awaitable[bytes]]


def body_of(number: int) -> dict[str, Any]:
    """The body of a request."""
    return {"model": "mock", "messages": [{"role": "user", "content": question(number)}]}


def keep_file(number: int, answer: Mapping[str, Any]) -> None:
    """One file for a task, whole or not there at all."""
    name = f"t{number:06d}"
    result = {"task_id": name, "status": "completed", "correct": is_right(answer)}
    written = json.dumps({**result, "response": answer, "request": body_of(number)}).encode()
    # by os alone: a limit must not pay for pathlib
    handle = os.open(f"{name}.tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.write(handle, written)
    os.close(handle)
    os.rename(f"{name}.tmp", f"{name}.json")  # noqa: PTH104


def keep_nothing(number: int, answer: Mapping[str, Any]) -> None:
    """Only see that it is right."""
    assert is_right(answer), number


def is_right(answer: Mapping[str, Any]) -> bool:
    """Whether the model has said what it was asked for."""
    said: object = answer["choices"][0]["message"]["content"]
    return said == "DONE"


def head_of(place: SplitResult, size: int) -> list[tuple[str, str]]:
    """The header fields of a request."""
    return [
        ("Host", place.netloc),
        ("Content-Type", "application/json"),
        ("Authorization", "Bearer x"),
        ("Content-Length", str(size)),
    ]


@asynccontextmanager
async def by_h11(place: SplitResult) -> AsyncIterator[Ask]:
    """A connection whose bytes h11 reads and writes."""
    target = f"{place.path}/chat/completions"
    frame = h11.Connection(h11.CLIENT)

    async def ask(body: bytes) -> bytes:
        request = h11.Request(method="POST", target=target, headers=head_of(place, len(body)))
        events = (request, h11.Data(data=body), h11.EndOfMessage())
        await stream.send_all(b"".join(frame.send(event) or b"" for event in events))
        answer = b""
        while not isinstance(event := frame.next_event(), h11.EndOfMessage):
            if event is h11.NEED_DATA:
                frame.receive_data(await stream.receive_some())
            elif isinstance(event, h11.Data):
                answer += event.data
        frame.start_next_cycle()
        return answer

    async with await trio.open_tcp_stream(place.hostname or "", place.port or 80) as stream:
        yield ask


@asynccontextmanager
async def by_hand(place: SplitResult) -> AsyncIterator[Ask]:
    """A connection that knows just enough of HTTP for this one server."""

    async def ask(body: bytes) -> bytes:
        lines = [f"{name}: {value}" for name, value in head_of(place, len(body))]
        start = f"POST {place.path}/chat/completions HTTP/1.1"
        await stream.send_all("\r\n".join([start, *lines, "", ""]).encode() + body)
        received = b""
        while True:
            received += await stream.receive_some()
            head, mark, rest = received.partition(b"\r\n\r\n")
            if mark and len(rest) >= int(head.lower().partition(b"content-length:")[2]):
                return rest

    async with await trio.open_tcp_stream(place.hostname or "", place.port or 80) as stream:
        yield ask


async def run(way: str, tasks: int, concurrency: int, url: str) -> None:
    """Ask for all tasks, so many at once."""
    place, turns = urlsplit(url), iter(range(tasks))
    connect = by_hand if way == "raw" else by_h11
    keep = keep_file if way == "file" else keep_nothing
    async with trio.open_nursery() as nursery:
        for _ in range(min(concurrency, tasks)):
            nursery.start_soon(_work, connect(place), turns, keep)


async def _work(
    connecting: AbstractAsyncContextManager[Ask], turns: Iterator[int], keep: Keep
) -> None:
    async with connecting as ask:
        for number in turns:
            keep(number, json.loads(await ask(json.dumps(body_of(number)).encode())))


if __name__ == "__main__":
    trio.run(run, sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
