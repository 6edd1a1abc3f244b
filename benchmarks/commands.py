"""What does a small command of a task on `host_process` cost, beside one that no engine runs?"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import attrs

from benchmarks.calls import PEERS as PEER_FILES
from benchmarks.contestants import PEERS
from benchmarks.figures import Size, a_task
from benchmarks.scenario import Case, Measure, Numbers, Plot, Scenario, Turn, Work

COMMAND = "true; echo done"
TIMES = 50
CONCURRENCY = 32
_START = "1 command"


@attrs.frozen(kw_only=True)
class Commands:
    """So many tasks, each of which runs its command so many times."""

    tasks: int
    times: int

    @property
    def environ(self) -> Mapping[str, str]:
        """For the peers, whose components have no parameters of their own."""
        return {"BENCH_COMMAND": COMMAND, "BENCH_TIMES": str(self.times)}


def _ours(work: Commands, turn: Turn) -> Sequence[str]:
    return (
        *(turn.contestant.program("agentcompass"), "run", "bench_tiny", "bench_shell", "none"),
        *("--benchmark-params", json.dumps({"count": work.tasks})),
        *("--harness-params", json.dumps({"command": COMMAND, "times": work.times})),
        *_as_agentcompass(),
    )


def _peer(work: Commands, turn: Turn) -> Sequence[str]:
    return (
        *(str(turn.contestant.python), str(PEER_FILES / "agentcompass_shell.py")),
        *("run", "bench_shell", "bench_shell", "mock"),
        *("--benchmark-params", json.dumps({"count": work.tasks})),
        *("--model-base-url", turn.server.url, "--model-api-key", "x"),
        *_as_agentcompass(),
    )


def _as_agentcompass() -> Sequence[str]:
    """Both have the same command line."""
    return (
        *("--env", "host_process", "--provider-limit", "host_process=0"),
        *("--env-open-qps", "host_process=0", "--task-concurrency", str(CONCURRENCY)),
        *("--results-dir", "results", "--progress", "none", "--log-level", "ERROR"),
    )


def _inspect(work: Commands, turn: Turn) -> Sequence[str]:
    return (
        *(turn.contestant.program("inspect"), "eval", f"{PEER_FILES / 'inspect_shell.py'}@shell"),
        *("-T", f"count={work.tasks}", "--model", "mockllm/model", "--display", "none"),
        *("--max-samples", str(CONCURRENCY), "--max-subprocesses", str(CONCURRENCY)),
        *("--log-level", "warning", "--log-dir", "logs"),
    )


def _bare(way: str, work: Commands, turn: Turn) -> Sequence[str]:
    numbers = (str(work.tasks), str(work.times), str(CONCURRENCY))
    return (str(turn.contestant.python), "-m", "benchmarks.bare_commands", way, *numbers, COMMAND)


_STARTS: Mapping[str, Callable[[Commands, Turn], Sequence[str]]] = {
    "ours": _ours,
    "bare_run": partial(_bare, "run_process"),
    "bare_spawn": partial(_bare, "posix_spawn"),
    "peer": _peer,
    "inspect": _inspect,
}


def work_of(work: Commands) -> Work:
    """How every contestant runs them."""

    def take(turn: Turn) -> Numbers:
        turn = attrs.evolve(turn, environ={**turn.environ, **work.environ})
        return turn.cost(_STARTS[turn.contestant.id](work, turn))

    return take


def scenario(quick: bool) -> Scenario:
    """The peers run a tenth of the tasks, once."""
    sizes = {_name(tasks): tasks for tasks in ((20,) if quick else (100, 1000))}
    everyone, without_peers = [*_STARTS], [name for name in _STARTS if name not in PEERS]
    cases = [
        Case(
            id=case,
            works=dict.fromkeys(
                everyone if tasks <= 100 else without_peers,
                work_of(Commands(tasks=tasks, times=TIMES)),
            ),
            slow=PEERS if tasks < 1000 else everyone,
        )
        for case, tasks in sizes.items()
    ]
    start = work_of(Commands(tasks=1, times=1))
    measured = ("cpu_seconds", "wall_seconds")
    commands = {case: Size(tasks * TIMES, _START) for case, tasks in sizes.items()}
    return Scenario(
        id="commands",
        title=f"Tasks of {TIMES} small commands each, {CONCURRENCY} at once",
        cases=[Case(id=_START, works=dict.fromkeys(everyone, start), slow=PEERS), *cases],
        measures=[
            Measure(id="cpu_seconds_a_task", title="CPU, ms a command", scale=1e3),
            Measure(id="wall_seconds_a_task", title="wall, ms a command", scale=1e3),
            Measure(id="cpu_seconds", title="CPU in all, s"),
            Measure(id="wall_seconds", title="wall in all, s"),
            Measure(id="cores_of_others", title="cores others used"),
        ],
        plots=[
            Plot(id="cpu", title="CPU of a command, milliseconds", measure="cpu_seconds_a_task")
        ],
        derive=lambda found: {**found, **a_task(found, measured, commands)},
    )


def _name(tasks: int) -> str:
    return f"{tasks:,} tasks of {TIMES}"
