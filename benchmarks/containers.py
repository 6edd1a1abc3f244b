"""What do tasks in containers of their own take, beside the docker command line?"""

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import attrs

from benchmarks.calls import PEERS
from benchmarks.commands import COMMAND
from benchmarks.cost import TurnFailed
from benchmarks.figures import Size, a_task
from benchmarks.scenario import Case, Measure, Numbers, Plot, Scenario, Turn, Work

# Has a shell and `sleep`; tests/images/build.sh makes it.
IMAGE = os.environ.get("BENCH_IMAGE", "agentcompass-test:busybox")
TIMES = 5
CONCURRENCY = 16


def _ours(tasks: int, turn: Turn) -> Sequence[str]:
    return (
        *(turn.contestant.program("agentcompass"), "run", "bench_tiny", "bench_shell", "none"),
        *("--harness-params", json.dumps({"command": COMMAND, "times": TIMES})),
        *("--env-params", json.dumps({"image": IMAGE, "pull": "never"})),
        *_as_agentcompass(tasks),
    )


def _peer(tasks: int, turn: Turn) -> Sequence[str]:
    return (
        *(str(turn.contestant.python), str(PEERS / "agentcompass_shell.py")),
        *(
            "run",
            "bench_shell",
            "bench_shell",
            "mock",
            "--env-params",
            json.dumps({"setup": {"image": IMAGE}}),
        ),
        *("--model-base-url", turn.server.url, "--model-api-key", "x"),
        *_as_agentcompass(tasks),
    )


def _as_agentcompass(tasks: int) -> Sequence[str]:
    """Both have the same command line."""
    return (
        *("--benchmark-params", json.dumps({"count": tasks}), "--env", "docker"),
        *("--provider-limit", f"docker={CONCURRENCY}", "--env-open-qps", "docker=0"),
        *("--task-concurrency", str(CONCURRENCY), "--results-dir", "results"),
        *("--progress", "none", "--log-level", "ERROR"),
    )


def _bare(tasks: int, turn: Turn) -> Sequence[str]:
    numbers = (str(tasks), str(TIMES), str(CONCURRENCY))
    python = str(turn.contestant.python)
    return (python, "-m", "benchmarks.bare_docker", *numbers, IMAGE, COMMAND)


_STARTS: Mapping[str, Callable[[int, Turn], Sequence[str]]] = {
    "ours": _ours,
    "bare_docker": _bare,
    "peer": _peer,
}


def _take(tasks: int, turn: Turn) -> Numbers:
    """Raises `TurnFailed` where there is no Docker Engine, or none with the image."""
    if why := _why_not():
        raise TurnFailed(why)
    for_peer = {"BENCH_COMMAND": COMMAND, "BENCH_TIMES": str(TIMES)}
    turn = attrs.evolve(turn, environ={**turn.environ, **for_peer})
    return turn.cost(_STARTS[turn.contestant.id](tasks, turn), timeout_seconds=600)


def _why_not() -> str:
    try:
        asked = subprocess.run(
            ["docker", "image", "inspect", IMAGE],  # noqa: S607 (found on PATH, as by its users)
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return "there is no docker command"
    return asked.stderr.strip() if asked.returncode else ""


def scenario(quick: bool) -> Scenario:
    """The peer takes its turn once."""
    many = 16 if quick else 64
    name = f"{many} tasks"
    cases = {"1 task": 1, name: many}
    works: dict[str, dict[str, Work]] = {
        case: {who: partial(_take, tasks) for who in _STARTS} for case, tasks in cases.items()
    }
    measured = ("cpu_seconds", "wall_seconds")
    return Scenario(
        id="containers",
        title=f"Tasks of {TIMES} commands in a container each, {CONCURRENCY} at once",
        cases=[Case(id=case, works=works[case], slow=("peer",)) for case in cases],
        measures=[
            Measure(id="cpu_seconds_a_task", title="CPU, ms a task", scale=1e3),
            Measure(id="wall_seconds_a_task", title="wall, ms a task", scale=1e3),
            Measure(id="cpu_seconds", title="CPU in all, s"),
            Measure(id="wall_seconds", title="wall in all, s"),
            Measure(id="cores_of_others", title="cores others used"),
        ],
        plots=[
            Plot(
                id="wall",
                title="Wall time of a task, milliseconds, start-up taken off",
                measure="wall_seconds_a_task",
                cases=[name],
            )
        ],
        derive=lambda found: {**found, **a_task(found, measured, {name: Size(many, "1 task")})},
    )
