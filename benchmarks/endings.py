"""How long after its deadline, or a signal, is a run with process trees over, and who survives it?

Each tree has five processes: a shell that ignores SIGTERM and SIGINT, as all below it then do, a
child in its group, a child in a session of its own, an orphan in one, and what the shell waits for.
"""

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import attrs

from benchmarks.calls import PEERS as PEER_FILES
from benchmarks.contestants import PEERS
from benchmarks.cost import TurnFailed
from benchmarks.marked import Marked, kill, marked, new_mark
from benchmarks.scenario import Case, Cell, Measure, Numbers, Plot, Scenario, Target, Turn, Work

TREE = "trap '' TERM INT; sleep 1000 & setsid sleep 1000 & (setsid sleep 1000 &); sleep 1000"
SLEEPERS = 4
PROGRAMS = ("bash", "dash", "sh", "sleep")

# Long enough for the trees to be there, also of peers that compute for 15 s before.
DEADLINE_SECONDS = 10.0
STARTING_SECONDS = 180.0
# A run that has not ended by then is killed, and counts as if it had ended.
LONGEST_WAIT_SECONDS = 60.0
# Trees that run are left alone for so long before a signal is sent.
SETTLING_SECONDS = 0.5

# How a run is ended: a signal, or None for its deadline.
WAYS: Mapping[str, signal.Signals | None] = {
    "deadline": None,
    "SIGINT": signal.SIGINT,
    "SIGTERM": signal.SIGTERM,
}


@attrs.frozen(kw_only=True)
class Trees:
    """How many trees run, by which command and for how long."""

    count: int
    mark: str
    deadline_seconds: float | None

    @property
    def command(self) -> str:
        """What makes one tree, all of whose processes carry the mark."""
        return f"export BENCH_MARK={self.mark}; {TREE}"


Start = Callable[[Turn, Trees], subprocess.Popen[bytes]]


def ours(turn: Turn, trees: Trees) -> subprocess.Popen[bytes]:
    """This engine, on its command line."""
    limit = trees.deadline_seconds
    return _popen(
        turn,
        *(turn.contestant.program("agentcompass"), "run", "bench_stamped", "bench_shell", "none"),
        *("--env", "host_process", "--env-open-qps", "host_process=0"),
        *("--benchmark-params", json.dumps({"count": trees.count})),
        *("--harness-params", json.dumps({"command": trees.command})),
        *("--task-concurrency", str(trees.count), "--provider-limit", "host_process=0"),
        *("--results-dir", "results", "--progress", "none"),
        *(() if limit is None else ("--timeout-seconds", str(limit))),
    )


def peer(turn: Turn, trees: Trees) -> subprocess.Popen[bytes]:
    """The asyncio implementation, on its command line."""
    limit = trees.deadline_seconds
    return _popen(
        turn,
        *(str(turn.contestant.python), str(PEER_FILES / "agentcompass_shell.py")),
        *("run", "bench_shell", "bench_shell", "mock", "--env", "host_process"),
        *("--benchmark-params", json.dumps({"count": trees.count})),
        *("--task-concurrency", str(trees.count), "--provider-limit", "host_process=0"),
        *("--model-base-url", turn.server.url, "--model-api-key", "x", "--results-dir", "results"),
        *("--progress", "none", "--log-level", "ERROR"),
        *(() if limit is None else ("--timeout-seconds", f"{limit:g}")),
        BENCH_COMMAND=trees.command,
    )


def inspect(turn: Turn, trees: Trees) -> subprocess.Popen[bytes]:
    """inspect-ai, on its command line; its deadline is each sample's."""
    return _popen(
        turn,
        *(turn.contestant.program("inspect"), "eval", f"{PEER_FILES / 'inspect_shell.py'}@shell"),
        *("-T", f"count={trees.count}", "-T", f"time_limit={trees.deadline_seconds or 0:g}"),
        *("--model", "mockllm/model", "--max-samples", str(trees.count)),
        *("--max-subprocesses", str(trees.count), "--display", "none", "--log-dir", "logs"),
        BENCH_COMMAND=trees.command,
    )


def _popen(turn: Turn, *command: str, **variables: str) -> subprocess.Popen[bytes]:
    with (turn.folder / "output").open("wb") as output:
        return subprocess.Popen(
            command,
            cwd=turn.folder,
            env={**turn.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def ending(start: Start, count: int, number: signal.Signals | None) -> Work:
    """Start a run, end it, and say how late it was over and how many processes it left alive."""

    def work(turn: Turn) -> Numbers:
        limit = DEADLINE_SECONDS if number is None else None
        trees = Trees(count=count, mark=new_mark(), deadline_seconds=limit)
        with _started(start, turn, trees) as process:
            running_at = _wait_for_trees(process, trees)
            due = _due(turn, running_at) if number is None else _signalled(process, number)
            late = _seconds_until_end(process, due)
            return {
                "late_seconds": late,
                "survivors": len(_of_trees(marked(trees.mark))),
                "hung": float(process.poll() is None),
            }

    return work


@contextmanager
def _started(start: Start, turn: Turn, trees: Trees) -> Iterator[subprocess.Popen[bytes]]:
    """A run, nothing of which is alive afterwards: neither itself nor who carries its mark."""
    process = start(turn, trees)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        while left := marked(trees.mark):
            kill(left)
            time.sleep(0.05)


def _wait_for_trees(process: subprocess.Popen[bytes], trees: Trees) -> float:
    """Return at which time all trees were there."""
    give_up_at = time.time() + STARTING_SECONDS
    while process.poll() is None and time.time() < give_up_at:
        sleepers = [each for each in marked(trees.mark) if each.program == "sleep"]
        if len(sleepers) >= SLEEPERS * trees.count:
            return time.time()
        time.sleep(0.05)
    raise TurnFailed(f"{trees.count} trees have not come to run; exit code {process.poll()}")


def _due(turn: Turn, running_at: float) -> float:
    """When the deadline falls due that began when tasks were loaded, or with the last tree."""
    stamp = turn.folder / "began"
    return (float(stamp.read_text()) if stamp.exists() else running_at) + DEADLINE_SECONDS


def _signalled(process: subprocess.Popen[bytes], number: signal.Signals) -> float:
    time.sleep(SETTLING_SECONDS)
    process.send_signal(number)
    return time.time()


def _seconds_until_end(process: subprocess.Popen[bytes], due: float) -> float:
    try:
        process.wait(max(0.0, due + LONGEST_WAIT_SECONDS - time.time()))
    except subprocess.TimeoutExpired:
        return LONGEST_WAIT_SECONDS
    return time.time() - due


def _of_trees(processes: Sequence[Marked]) -> list[Marked]:
    """Without the runner and its helpers, which may carry the mark as well."""
    return [each for each in processes if each.program in PROGRAMS]


# The peers take a minute each to give up, and are shown with few trees, once.
FEW, MANY = 4, 32


def _case(way: str, count: int, starts: Mapping[str, Start]) -> Case:
    works = {name: ending(start, count, WAYS[way]) for name, start in starts.items()}
    return Case(id=f"{way}, {count} trees", works=works, slow=PEERS)


def scenario(quick: bool) -> Scenario:
    """The endings of many trees, and of few beside the peers."""
    everyone = {"ours": ours, "peer": peer, "inspect": inspect}
    many = [_case(way, FEW if quick else MANY, {"ours": ours}) for way in WAYS]
    few = [] if quick else [_case(way, FEW, everyone) for way in WAYS]
    return Scenario(
        id="endings",
        title="From a deadline or a signal to the end of the process, over stubborn process trees",
        cases=[*many, *few],
        measures=[
            Measure(id="late_seconds", title="late, s"),
            Measure(id="survivors", title="survivors"),
            Measure(id="hung", title="killed after a minute"),
        ],
        targets=[target for case in many for target in _targets(case.id)],
        plots=[Plot(id="late", title="seconds until the end", measure="late_seconds")],
    )


def _targets(case: str) -> Iterable[Target]:
    yield Target(what=f"{case}: seconds", of=Cell(case, "ours", "late_seconds"), at_most=0.5)
    yield Target(what=f"{case}: survivors", of=Cell(case, "ours", "survivors"), at_most=0)
