"""A model that answers every chat completion DONE, after a time, at little cost.

    python -m benchmarks.model_server [--latency 0.05]

It writes its port, and serves until it is killed. HTTP is read by hand on an asyncio protocol: the
server must not be what is measured. `GET /stats` tells what it has done, its own CPU included.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import attrs

USAGE = {"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11}
_CHUNKS = [{"choices": [{"index": 0, "delta": {"content": "x"}}]}] * 19
_LAST = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": USAGE}


def _answer(body: bytes, kind: bytes = b"application/json") -> bytes:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n"
    return head % (kind, len(body)) + body


_COMPLETION = {
    "id": "chatcmpl-0",
    "object": "chat.completion",
    "created": 1700000000,
    "model": "mock",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "DONE"},
        }
    ],
    "usage": USAGE,
}
WHOLE = _answer(json.dumps(_COMPLETION).encode())
STREAMED = _answer(
    b"".join(b"data: %s\n\n" % json.dumps(chunk).encode() for chunk in [*_CHUNKS, _LAST])
    + b"data: [DONE]\n\n",
    b"text/event-stream",
)


@attrs.define
class Stats:
    """What a server has done so far."""

    latency_seconds: float
    requests: int = 0
    in_flight: int = 0
    most_in_flight: int = 0

    def as_answer(self) -> bytes:
        """The same as JSON, with the CPU of the process."""
        told = {**attrs.asdict(self), "cpu_seconds": time.process_time()}
        return _answer(json.dumps(told).encode())


class Answering(asyncio.Protocol):
    """One connection: requests one after another, each with a body of known length."""

    def __init__(self, stats: Stats) -> None:
        self.stats = stats
        self.received = b""
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Answers that are still due go nowhere."""
        self.transport = None

    def data_received(self, data: bytes) -> None:
        """Answer a request as soon as it is whole."""
        self.received += data
        head, mark, rest = self.received.partition(b"\r\n\r\n")
        size = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
        if mark and len(rest) >= size:
            self.received = b""
            self._asked(head, rest)

    def _asked(self, head: bytes, body: bytes) -> None:
        if head.startswith(b"GET"):
            self._send(self.stats.as_answer())
            return
        self.stats.requests += 1
        self.stats.in_flight += 1
        self.stats.most_in_flight = max(self.stats.most_in_flight, self.stats.in_flight)
        answer = STREAMED if b'"stream":true' in body or b'"stream": true' in body else WHOLE
        asyncio.get_running_loop().call_later(self.stats.latency_seconds, self._reply, answer)

    def _reply(self, answer: bytes) -> None:
        self.stats.in_flight -= 1
        self._send(answer)

    def _send(self, answer: bytes) -> None:
        if self.transport is not None:
            self.transport.write(answer)


async def serve(latency_seconds: float) -> None:
    """Answer on any free port of the loopback, for good."""
    stats = Stats(latency_seconds=latency_seconds)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Answering(stats), "127.0.0.1", 0, backlog=4096)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


@attrs.frozen
class ModelServer:
    """A server in a process of its own, as its clients see it."""

    port: int

    @property
    def url(self) -> str:
        """The base URL of the protocol openai-chat."""
        return f"http://127.0.0.1:{self.port}/v1"

    def stats(self) -> dict[str, Any]:
        """The fields of `Stats`, and `cpu_seconds` of the server."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/stats", timeout=60) as answer:
            told: dict[str, Any] = json.load(answer)
        return told


@contextmanager
def model_server(latency_seconds: float = 0.05) -> Iterator[ModelServer]:
    """A server for the body."""
    command = [sys.executable, "-m", "benchmarks.model_server", "--latency", str(latency_seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield ModelServer(int(process.stdout.readline()))
        finally:
            process.kill()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.model_server")
    parser.add_argument("--latency", type=float, default=0.05, help="seconds")
    asyncio.run(serve(parser.parse_args().latency))
