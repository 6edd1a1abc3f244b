"""What does it take until a command line answers, and until one trivial task is done?"""

from collections.abc import Mapping
from functools import partial

from benchmarks.calls import Load, works
from benchmarks.scenario import Case, Cell, Measure, Numbers, Plot, Scenario, Target, Turn, Work

_PROGRAMS = {"ours": "agentcompass", "peer": "agentcompass", "inspect": "inspect"}
_MODULES = {"ours": "agentcompass", "peer": "agentcompass", "inspect": "inspect_ai"}
_NOTHING, _VERSION, _TASK = "python -c pass", "--version", "one task, end to end"


def scenario(quick: bool) -> Scenario:
    """The same for a quick look: without the peers it is over within seconds."""
    return Scenario(
        id="start_up",
        title="Starting up, and one trivial task",
        cases=_cases(),
        measures=[
            Measure(id="cpu_seconds", title="CPU, s"),
            Measure(id="wall_seconds", title="wall, s"),
            Measure(id="peak_bytes", title="peak memory, MB", scale=1e-6),
            Measure(id="cores_of_others", title="cores others used"),
        ],
        targets=[
            Target(
                what="CPU of --version over python -c pass",
                of=_cpu(_VERSION, "ours"),
                over=_cpu(_NOTHING, "python"),
                at_most=3,
            ),
            _over_peer("CPU of --version over the peer", _VERSION, 1 / 10),
            _over_peer("CPU of one task, end to end, over the peer", _TASK, 1 / 20),
        ],
        plots=[Plot(id="cpu", title="CPU until it is done, seconds", measure="cpu_seconds")],
    )


def _cases() -> list[Case]:
    importing = {who: partial(_code, f"import {name}") for who, name in _MODULES.items()}
    one = works(Load(tasks=1, concurrency=32), "ours", "bare_file", "peer", "inspect")
    return [
        Case(id=_NOTHING, works={"python": partial(_code, "pass")}),
        Case(id=_VERSION, works=_asking(_VERSION)),
        Case(id="--help", works=_asking("--help")),
        Case(id="import", works=importing),
        Case(id=_TASK, works=one),
    ]


def _asking(option: str) -> Mapping[str, Work]:
    return {who: partial(_asked, option) for who in _PROGRAMS}


def _asked(option: str, turn: Turn) -> Numbers:
    return turn.cost([turn.contestant.program(_PROGRAMS[turn.contestant.id]), option])


def _code(code: str, turn: Turn) -> Numbers:
    return turn.cost([str(turn.contestant.python), "-c", code])


def _cpu(case: str, who: str) -> Cell:
    return Cell(case, who, "cpu_seconds")


def _over_peer(what: str, case: str, at_most: float) -> Target:
    return Target(what=what, of=_cpu(case, "ours"), over=_cpu(case, "peer"), at_most=at_most)
