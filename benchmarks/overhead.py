"""What does the engine itself take of each task, and does that grow with their number?"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from benchmarks.calls import Load, works
from benchmarks.contestants import PEERS
from benchmarks.figures import Size, a_task
from benchmarks.scenario import Case, Cell, Found, Measure, Plot, Scenario, Target

_PER_TASK = ("cpu_seconds", "wall_seconds", "kept_bytes", "written_bytes", "files")
_BARE = ("bare_file", "bare_h11", "bare_raw")

# What starting takes; how many could be at once makes no difference to one task.
_ONE = Load(tasks=1, concurrency=32)

_TOLD = {
    "cpu_seconds_a_task": "CPU of a task",
    "wall_seconds_a_task": "wall of a task",
    "kept_bytes_a_task": "bytes of a task",
    "peak_bytes": "peak memory",
}
_WHOM = {"bare_file": "the bare loop with files", "peer": "the peer", "inspect": "inspect-ai"}

_MEASURES = (
    Measure(id="cpu_seconds_a_task", title="CPU, ms a task", scale=1e3),
    Measure(id="wall_seconds_a_task", title="wall, ms a task", scale=1e3),
    Measure(id="cpu_seconds", title="CPU in all, s"),
    Measure(id="wall_seconds", title="wall in all, s"),
    Measure(id="peak_bytes", title="peak memory, MB", scale=1e-6),
    Measure(id="kept_bytes_a_task", title="on disk, bytes a task"),
    Measure(id="written_bytes_a_task", title="written, bytes a task"),
    Measure(id="files_a_task", title="files a task"),
    Measure(id="server_cpu_seconds", title="CPU of the model server, s"),
    Measure(id="cores_of_others", title="cores others used"),
)


def scenario(quick: bool) -> Scenario:
    """One-call tasks in growing numbers; the peers, which take minutes, make fewer."""
    loads = {_name(load): load for load in _loads((100, 1000) if quick else (100, 1000, 10_000))}
    return Scenario(
        id="overhead",
        title="One-call tasks, 50 ms a call: what an engine takes beyond it",
        cases=[_case(name, load, quick) for name, load in loads.items()],
        measures=_MEASURES,
        targets=_targets(),
        plots=_plots(loads),
        derive=partial(_derived, loads),
    )


def _loads(counts: Sequence[int]) -> Iterator[Load]:
    yield _ONE
    for concurrency in (32, 256):
        for tasks in counts:
            yield Load(tasks=tasks, concurrency=concurrency)


def _name(load: Load) -> str:
    return "1 task" if load == _ONE else f"{load.tasks:,} at {load.concurrency}"


def _case(name: str, load: Load, quick: bool) -> Case:
    who = ["ours", *(_BARE if load.tasks < 10_000 else _BARE[:1])]
    # the peer takes ten seconds for one task, and seven minutes for 1,000
    if load.tasks <= (1000 if load.concurrency == 32 and not quick else 100):
        who += PEERS
    return Case(id=name, works=works(load, *who), slow=PEERS if load.tasks == 1000 else ())


def _derived(loads: Mapping[str, Load], found: Found) -> Found:
    sizes = {name: Size(load.tasks, _name(_ONE)) for name, load in loads.items()}
    return {**found, **a_task(found, _PER_TASK, sizes)}


def _targets() -> list[Target]:
    cpu, wall = "cpu_seconds_a_task", "wall_seconds_a_task"
    return [
        _over("bare_file", cpu, Load(tasks=1000, concurrency=32), 6),
        _over("bare_file", cpu, Load(tasks=1000, concurrency=256), 6),
        _over("peer", cpu, Load(tasks=100, concurrency=32), 1 / 50),
        _over("peer", cpu, Load(tasks=1000, concurrency=32), 1 / 50),
        _over("inspect", cpu, Load(tasks=100, concurrency=32), 1 / 8),
        _over("inspect", cpu, Load(tasks=1000, concurrency=32), 1 / 8),
        _over("bare_file", wall, Load(tasks=1000, concurrency=32), 1.5),
        _over("bare_file", wall, Load(tasks=1000, concurrency=256), 4),
        _growth(cpu, 1000, 1.1),
        _growth("kept_bytes_a_task", 1000, 1.1),
        _growth("peak_bytes", 100, 1.3),
    ]


def _over(who: str, measure: str, load: Load, at_most: float) -> Target:
    case = _name(load)
    return Target(
        what=f"{_TOLD[measure]}, {case}, over {_WHOM[who]}",
        of=Cell(case, "ours", measure),
        over=Cell(case, who, measure),
        at_most=at_most,
    )


def _growth(measure: str, tasks: int, at_most: float) -> Target:
    """Of 10,000 tasks over fewer."""
    most, fewer = (_name(Load(tasks=number, concurrency=32)) for number in (10_000, tasks))
    return Target(
        what=f"{_TOLD[measure]}, {most} over {fewer}",
        of=Cell(most, "ours", measure),
        over=Cell(fewer, "ours", measure),
        at_most=at_most,
    )


def _plots(loads: Mapping[str, Load]) -> list[Plot]:
    many = [name for name, load in loads.items() if 1 < load.tasks <= 1000]
    return [
        Plot(
            id="cpu",
            title="CPU of a one-call task, milliseconds, start-up taken off",
            measure="cpu_seconds_a_task",
            cases=many,
        ),
        Plot(
            id="wall",
            title="Wall time of a one-call task, milliseconds, start-up taken off",
            measure="wall_seconds_a_task",
            cases=many,
        ),
        _growing("growth", "CPU of a task, milliseconds, 32 at once", "cpu_seconds_a_task", loads),
        _growing("memory", "Peak memory, MB, 32 at once", "peak_bytes", loads),
    ]


def _growing(name: str, title: str, measure: str, loads: Mapping[str, Load]) -> Plot:
    """Over the number of tasks."""
    x = {case: load.tasks for case, load in loads.items() if load.concurrency == 32}
    return Plot(id=name, title=title, measure=measure, x=x, x_title="tasks")
