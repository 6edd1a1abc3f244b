"""How each contestant makes a number of one-call tasks, so many at once."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import attrs

from benchmarks.cost import TurnFailed, sizes
from benchmarks.scenario import Numbers, Turn, Work

PEERS = Path(__file__).resolve().parent / "peers"


@attrs.frozen(kw_only=True)
class Load:
    """How many tasks, and how many of them at once."""

    tasks: int
    concurrency: int


def works(load: Load, *names: str) -> Mapping[str, Work]:
    """The work of that load by contestant: of all, or of those named."""
    return {name: partial(_numbers, load) for name in names or _COMMANDS}


def _numbers(load: Load, turn: Turn) -> Numbers:
    """What it costs, what it leaves, and what the model server saw of it.

    Raises `TurnFailed` where the server was not asked once for each task.
    """
    cost = turn.cost(command(load, turn))
    seen = turn.server.stats()
    if seen["requests"] != load.tasks:
        raise TurnFailed(f"{seen['requests']} requests for {load.tasks} tasks")
    return {
        **cost,
        **sizes(turn.folder),
        "most_in_flight": seen["most_in_flight"],
        "server_cpu_seconds": seen["cpu_seconds"],
    }


def command(load: Load, turn: Turn) -> Sequence[str]:
    """What a contestant is started with; results go to the turn's folder."""
    return _COMMANDS[turn.contestant.id](load, turn)


def _ours(load: Load, turn: Turn) -> list[str]:
    return [turn.contestant.program("agentcompass"), *_as_agentcompass(load, turn)]


def _peer(load: Load, turn: Turn) -> list[str]:
    script = str(PEERS / "agentcompass_cli.py")
    return [str(turn.contestant.python), script, *_as_agentcompass(load, turn)]


def _as_agentcompass(load: Load, turn: Turn) -> list[str]:
    """Both have the same command line."""
    options = {
        "benchmark-params": json.dumps({"count": load.tasks}),
        "model-base-url": turn.server.url,
        "model-api-key": "x",
        "results-dir": "results",
        "run-id": "r1",
        "task-concurrency": str(load.concurrency),
        "provider-limit": "host_process=0",
        "progress": "none",
        "log-level": "ERROR",
    }
    named = [text for name, value in options.items() for text in (f"--{name}", value)]
    return ["run", "bench_calls", "openai_chat", "mock", *named]


def _inspect(load: Load, turn: Turn) -> list[str]:
    options = {
        "model": "openai-api/mock/mock",
        "model-base-url": turn.server.url,
        "max-connections": str(load.concurrency),
        "max-samples": str(load.concurrency),
        "display": "none",
        "log-level": "warning",
        "log-dir": "logs",
    }
    named = [text for name, value in options.items() for text in (f"--{name}", value)]
    task = f"{PEERS / 'inspect_task.py'}@calls"
    given = ["-T", f"count={load.tasks}", "-M", "api_key=x"]
    return [turn.contestant.program("inspect"), "eval", task, *given, *named]


def _bare(way: str, load: Load, turn: Turn) -> list[str]:
    numbers = (str(load.tasks), str(load.concurrency))
    python = str(turn.contestant.python)
    return [python, "-m", "benchmarks.bare_loop", way, *numbers, turn.server.url]


_COMMANDS: dict[str, Callable[[Load, Turn], Sequence[str]]] = {
    "ours": _ours,
    "bare_file": partial(_bare, "file"),
    "bare_h11": partial(_bare, "h11"),
    "bare_raw": partial(_bare, "raw"),
    "peer": _peer,
    "inspect": _inspect,
}
