"""What a model call costs in CPU, beside a bare loop on the same libraries.

    python -m benchmarks.model_calls [--calls 1000] [--concurrency 256] [--rounds 3] [--httpx]

A server in a process of its own (`model_server.py`) answers every chat completion after 50 ms.
`bare` is a loop over h11 on trio's sockets that does nothing else (`bare_loop.py`); `ours` is a
conversation of the protocol openai-chat; `stream` is the same with a stream of 20 chunks;
`httpx` is `httpx.AsyncClient` with its own pool. The figures are milliseconds of this process's
CPU for each call, the median of the rounds.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

import httpx
import trio

from agentcompass.models.openai_chat import OpenAIChat
from agentcompass.records.request import ModelSpec
from benchmarks import bare_loop
from benchmarks.model_server import model_server

MESSAGES = [{"role": "user", "content": "Reply with DONE."}]
Loop = Callable[[int, int, int], Awaitable[None]]


async def workers(calls: int, concurrency: int, worker: Callable[[Any], Awaitable[None]]) -> None:
    """So many workers take turns from one counter."""
    turns = iter(range(calls))
    async with trio.open_nursery() as nursery:
        for _ in range(concurrency):
            nursery.start_soon(worker, turns)


async def bare(port: int, calls: int, concurrency: int) -> None:
    """Nothing but h11 and a socket each."""
    await bare_loop.run("h11", calls, concurrency, f"http://127.0.0.1:{port}/v1")


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
    options = parser.parse_args()
    loops: dict[str, Loop] = {"bare": bare, "ours": ours, "stream": streamed}
    if options.httpx:
        loops["httpx"] = plain_httpx
    found: dict[str, list[Mapping[str, float]]] = {name: [] for name in loops}
    with model_server() as server:
        for _ in range(options.rounds):
            for name, loop in loops.items():
                found[name].append(measured(loop, server.port, options.calls, options.concurrency))
    for name, rounds in found.items():
        middle = {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}
        sys.stdout.write(
            f"{name:8} {middle['cpu_ms_per_call']:6.2f} ms CPU a call"
            f" {middle['calls_per_second']:8.0f} calls/s\n"
        )


if __name__ == "__main__":
    main()
