"""What a model call costs in CPU, beside a bare loop on the same libraries.

    python -m benchmarks.model_calls [--calls 1000] [--concurrency 256] [--rounds 3] [--httpx]

A server in a process of its own answers every chat completion after 50 ms. `bare` is a loop over
h11 on trio's sockets that does nothing else; `ours` is a conversation of the protocol openai-chat;
`stream` is the same with a stream of 20 chunks; `httpx` is `httpx.AsyncClient` with its own pool.
The figures are milliseconds of this process's CPU for each call, the median of the rounds.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import h11
import httpx
import trio

from agentcompass.models.openai_chat import OpenAIChat
from agentcompass.records.request import ModelSpec

LATENCY = 0.05  # seconds
MESSAGES = [{"role": "user", "content": "Reply with DONE."}]
USAGE = {"prompt_tokens": 10, "completion_tokens": 1}
BODY = json.dumps(
    {
        "choices": [{"message": {"role": "assistant", "content": "DONE"}, "finish_reason": "stop"}],
        "usage": USAGE,
    }
).encode()
CHUNKS = [{"choices": [{"index": 0, "delta": {"content": "x"}}]}] * 19
LAST = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": USAGE}
STREAM = b"".join(b"data: %s\n\n" % json.dumps(chunk).encode() for chunk in [*CHUNKS, LAST])
Loop = Callable[[int, int, int], Awaitable[None]]


async def serve(*, task_status: trio.TaskStatus[int]) -> None:
    """Answer requests on any free port, by hand: the server must not be what is measured."""

    async def handle(stream: trio.SocketStream) -> None:
        with suppress(trio.BrokenResourceError):
            await _converse(stream)

    async with trio.open_nursery() as nursery:
        listener = (await trio.open_tcp_listeners(0, host="127.0.0.1", backlog=512))[0]
        nursery.start_soon(trio.serve_listeners, handle, [listener])
        task_status.started(listener.socket.getsockname()[1])


async def _converse(stream: trio.SocketStream) -> None:
    data = b""
    while received := await stream.receive_some():
        data += received
        head, mark, rest = data.partition(b"\r\n\r\n")
        size = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
        if mark and len(rest) >= size:
            data = b""
            await trio.sleep(LATENCY)
            await stream.send_all(_answer(b'"stream":true' in rest))


def _answer(stream: bool) -> bytes:
    body = STREAM + b"data: [DONE]\n\n" if stream else BODY
    kind = b"text/event-stream" if stream else b"application/json"
    head = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n"
    return head % (kind, len(body)) + body


async def _serve_until_killed() -> None:
    async with trio.open_nursery() as nursery:
        port = await nursery.start(serve)
        sys.stdout.write(f"{port}\n")
        sys.stdout.flush()


@contextmanager
def server() -> Iterator[int]:
    """The port of a server in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.model_calls", "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


async def workers(calls: int, concurrency: int, worker: Callable[[Any], Awaitable[None]]) -> None:
    """So many workers take turns from one counter."""
    turns = iter(range(calls))
    async with trio.open_nursery() as nursery:
        for _ in range(concurrency):
            nursery.start_soon(worker, turns)


async def bare(port: int, calls: int, concurrency: int) -> None:
    """Nothing but h11 and a socket each."""
    body = json.dumps({"model": "m", "messages": MESSAGES}).encode()
    headers = [("Host", "x"), ("Authorization", "Bearer x"), ("Content-Length", str(len(body)))]
    request = h11.Request(method="POST", target="/v1/chat/completions", headers=headers)

    async def work(turns: Iterator[int]) -> None:
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            frame = h11.Connection(h11.CLIENT)
            for _ in turns:
                events = (request, h11.Data(data=body), h11.EndOfMessage())
                await stream.send_all(b"".join(frame.send(event) or b"" for event in events))
                answer = b""
                while not isinstance(event := frame.next_event(), h11.EndOfMessage):
                    if event is h11.NEED_DATA:
                        frame.receive_data(await stream.receive_some())
                    elif isinstance(event, h11.Data):
                        answer += event.data
                assert json.loads(answer)["choices"][0]["message"]["content"] == "DONE"
                frame.start_next_cycle()

    await workers(calls, concurrency, work)


async def ours(port: int, calls: int, concurrency: int, **params: Any) -> None:
    """A conversation for each worker, as an engine with so many slots has them."""
    spec = ModelSpec(id="m", base_url=f"http://127.0.0.1:{port}/v1", api_key="x", params=params)

    async def work(turns: Iterator[int]) -> None:
        conversation = model.conversation("t", 1)
        for _ in turns:
            reply = await conversation.complete(MESSAGES)
            assert reply.finish_reason == "stop"

    async with OpenAIChat(spec, replies=None, connections=concurrency) as model:
        await workers(calls, concurrency, work)


async def streamed(port: int, calls: int, concurrency: int) -> None:
    """The same, streamed."""
    await ours(port, calls, concurrency, stream=True)


async def plain_httpx(port: int, calls: int, concurrency: int) -> None:
    """What `httpx.AsyncClient` does by itself."""
    url = f"http://127.0.0.1:{port}/v1/chat/completions"
    limits = httpx.Limits(
        max_connections=concurrency, max_keepalive_connections=concurrency, keepalive_expiry=None
    )

    async def work(turns: Iterator[int]) -> None:
        for _ in turns:
            answer = await client.post(url, json={"model": "m", "messages": MESSAGES})
            assert answer.json()["choices"]

    async with httpx.AsyncClient(limits=limits, timeout=60, trust_env=False) as client:
        await workers(calls, concurrency, work)


def measured(loop: Loop, port: int, calls: int, concurrency: int) -> Mapping[str, float]:
    """Milliseconds of CPU for each call, and calls for each second."""
    cpu, wall = time.process_time(), time.perf_counter()
    trio.run(loop, port, calls, concurrency)
    spent = time.process_time() - cpu
    return {
        "cpu_ms_per_call": 1000 * spent / calls,
        "calls_per_second": calls / (time.perf_counter() - wall),
    }


def main() -> None:
    """Measure the loops in turn, a few rounds of each, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--concurrency", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--httpx", action="store_true", help="measure httpx's own pool too")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        trio.run(_serve_until_killed)
        return
    loops: dict[str, Loop] = {"bare": bare, "ours": ours, "stream": streamed}
    if options.httpx:
        loops["httpx"] = plain_httpx
    found: dict[str, list[Mapping[str, float]]] = {name: [] for name in loops}
    with server() as port:
        for _ in range(options.rounds):
            for name, loop in loops.items():
                found[name].append(measured(loop, port, options.calls, options.concurrency))
    for name, rounds in found.items():
        middle = {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}
        sys.stdout.write(
            f"{name:8} {middle['cpu_ms_per_call']:6.2f} ms CPU a call"
            f" {middle['calls_per_second']:8.0f} calls/s\n"
        )


if __name__ == "__main__":
    main()
