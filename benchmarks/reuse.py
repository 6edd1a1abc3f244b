"""What does a run take that reuses a finished one, beside a plain copy of it and beside executing?

The cases of a round follow each other on the same tree: the first executes it into a folder beside
the turns' own. It has just been written, so that it is in the memory of the kernel for all of them.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from benchmarks.calls import Load, command
from benchmarks.cost import TurnFailed, sizes
from benchmarks.scenario import Case, Cell, Measure, Numbers, Plot, Scenario, Target, Turn, Work

CONCURRENCY = 32
_COPYTREE = "import shutil, sys; shutil.copytree(sys.argv[1], sys.argv[2])"


@attrs.frozen(kw_only=True)
class Kept:
    """The results of a contestant's finished run of so many tasks, until it is executed again."""

    tasks: int
    folder: Path

    @property
    def load(self) -> Load:
        """What was executed."""
        return Load(tasks=self.tasks, concurrency=CONCURRENCY)

    def run(self) -> Path:
        """The run directory; raises `TurnFailed` where there is none."""
        found = sorted(self.folder.rglob("r1/run_info.json"))
        if not found:
            raise TurnFailed("there is no finished run to go on from")
        return found[0].parent


Step = Callable[[Kept, Turn], Numbers]


def _execute(kept: Kept, turn: Turn) -> Numbers:
    # out of the way, not removed: see `benchmarks.turns`
    if kept.folder.exists():
        kept.folder.rename(turn.folder / "earlier")
    kept.folder.mkdir()
    cost = turn.cost(command(kept.load, turn))
    return {**cost, **sizes(kept.run())}


def _reuse(kept: Kept, turn: Turn) -> Numbers:
    """Raises `TurnFailed` where the model was asked for anything."""
    kept.run()
    again = ["r2" if word == "r1" else word for word in command(kept.load, turn)]
    cost = turn.cost([*again, "--reuse", "r1"])
    made = kept.run().with_name("r2")
    told = {**cost, **sizes(made)}
    made.rename(turn.folder / "reused")
    if asked := turn.server.stats()["requests"]:
        raise TurnFailed(f"{asked} tasks were executed again")
    return told


def _cp(kept: Kept, turn: Turn) -> Numbers:
    cost = turn.cost(["cp", "-a", str(kept.run()), "copy"])
    return {**cost, **sizes(turn.folder / "copy")}


def _copytree(kept: Kept, turn: Turn) -> Numbers:
    cost = turn.cost([sys.executable, "-c", _COPYTREE, str(kept.run()), "copy"])
    return {**cost, **sizes(turn.folder / "copy")}


def _asked(name: str) -> Step:
    def ask(kept: Kept, turn: Turn) -> Numbers:
        return turn.cost([turn.contestant.program("agentcompass"), name, str(kept.run())])

    return ask


# Whose tree a contestant works on, and the steps in their order.
_OWNER = {"ours": "ours", "python": "ours", "peer": "peer"}
STEPS: Mapping[str, Mapping[str, Step]] = {
    "executed": {"ours": _execute, "peer": _execute},
    "reused": {"ours": _reuse, "peer": _reuse},
    "copied by cp -a": {"python": _cp},
    "copied by copytree": {"python": _copytree},
    "summary": {"ours": _asked("summary")},
    "status": {"ours": _asked("status")},
}


def work_of(step: Step, tasks: int) -> Work:
    """A step on the run of so many tasks that the step `executed` has made."""

    def take(turn: Turn) -> Numbers:
        owner = _OWNER[turn.contestant.id]
        kept = Kept(tasks=tasks, folder=turn.folder.with_name(f"kept-{owner}-{tasks}"))
        (turn.folder / "results").symlink_to(kept.folder)  # where the commands write
        return step(kept, turn)

    return take


def scenario(quick: bool) -> Scenario:
    """The peer, which takes minutes, up to 1,000 tasks."""
    counts = (100,) if quick else (100, 1000, 10_000)
    return Scenario(
        id="reuse",
        title="A finished run reused, copied, summarized and looked at",
        cases=[case for tasks in counts for case in _cases(tasks, peer=tasks < 10_000)],
        measures=[
            Measure(id="cpu_seconds", title="CPU, s"),
            Measure(id="wall_seconds", title="wall, s"),
            Measure(id="peak_bytes", title="peak memory, MB", scale=1e-6),
            Measure(id="files", title="files"),
            Measure(id="kept_bytes", title="on disk, MB", scale=1e-6),
            Measure(id="cores_of_others", title="cores others used"),
        ],
        targets=[] if quick else list(_targets(counts[-1])),
        plots=[Plot(id="wall", title="seconds", measure="wall_seconds", cases=_names(counts[-1]))],
    )


def _cases(tasks: int, *, peer: bool) -> Iterator[Case]:
    for name, steps in STEPS.items():
        works = {who: work_of(step, tasks) for who, step in steps.items() if peer or who != "peer"}
        yield Case(id=_name(name, tasks), works=works, slow=("peer",))


def _names(tasks: int) -> Sequence[str]:
    return [_name(step, tasks) for step in STEPS]


def _name(step: str, tasks: int) -> str:
    return f"{tasks:,} tasks {step}"


def _targets(tasks: int) -> Iterator[Target]:
    for measure, what in (("cpu_seconds", "CPU"), ("wall_seconds", "wall")):
        reused = Cell(_name("reused", tasks), "ours", measure)
        for over, who, at_most in (
            ("copied by cp -a", "python", 3.0),
            ("copied by copytree", "python", 3.0),
            ("executed", "ours", 1 / 4),
        ):
            yield Target(
                what=f"{what}: {tasks:,} tasks reused over {over}",
                of=reused,
                over=Cell(_name(over, tasks), who, measure),
                at_most=at_most,
            )
