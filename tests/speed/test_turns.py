"""Every contestant has its turns, and what came of them is told as it is."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.contestants import Contestant
from benchmarks.cost import TurnFailed
from benchmarks.machine import facts
from benchmarks.outcome import Outcome
from benchmarks.processes import open_place
from benchmarks.report import markdown
from benchmarks.scenario import Case, Cell, Measure, Numbers, Plot, Scenario, Target, Turn
from benchmarks.turns import Rounds
from benchmarks.written import write


def contestant(name: str) -> Contestant:
    return Contestant(id=name, title=name, python=Path(sys.executable), distribution="trio")


def three(turn: Turn) -> Numbers:
    return {"cpu": 3.0}


def nothing(turn: Turn) -> Numbers:
    raise TurnFailed("ended with 1 after 0 s: no luck")


def command(turn: Turn) -> Numbers:
    """Real processes: one writes to its folder, one asks the server."""
    cost = turn.cost([sys.executable, "-c", "open('kept', 'w').write('x' * 1000)"])
    return {**cost, "there": len(list(turn.folder.iterdir())), **turn.server.stats()}


SCENARIO = Scenario(
    id="fake",
    title="A fake",
    cases=[
        Case(id="first", works={"ours": three, "peer": three, "gone": three}, slow={"peer"}),
        Case(id="second", works={"peer": nothing}),
    ],
    measures=[Measure(id="cpu", title="CPU, ms", scale=1e3)],
    targets=[
        Target(
            what="ours over the peer",
            of=Cell("first", "ours", "cpu"),
            over=Cell("first", "peer", "cpu"),
            at_most=0.5,
        )
    ],
    plots=[Plot(id="cpu", title="CPU", measure="cpu")],
)


@pytest.fixture(scope="module")
def rounds() -> Iterator[Rounds]:
    who = {name: contestant(name) for name in ("ours", "peer")}
    with open_place() as place:
        yield Rounds(count=2, contestants=who, place=place)


@pytest.fixture(scope="module")
def outcome(rounds: Rounds) -> Outcome:
    versions = {"ours": "1", "peer": "2", "gone": None}
    rows = list(rounds.rows(SCENARIO))
    return Outcome(scenario=SCENARIO, rows=rows, versions=versions, machine=facts())


def test_all_take_turns_round_by_round_and_the_slow_in_the_last(outcome: Outcome) -> None:
    assert [(row.round, row.case, row.contestant) for row in outcome.rows] == [
        (1, "first", "ours"),
        (1, "second", "peer"),
        (2, "first", "ours"),
        (2, "first", "peer"),
        (2, "second", "peer"),
    ]


def test_the_report_says_who_is_not_installed_what_failed_and_what_is_not_met(
    outcome: Outcome,
) -> None:
    told = markdown(outcome)

    assert "| first | ours | 3,000   |" in told
    assert "| ours over the peer | 1     | at most 1/2 | not met |" in told
    assert "Not installed, so not measured: gone." in told
    assert "Failed: peer, second, round 2: ended with 1 after 0 s: no luck" in told


def test_what_is_written_keeps_other_scenarios_and_has_every_row(
    outcome: Outcome, tmp_path: Path
) -> None:
    (tmp_path / "bench.json").write_text('{"other": 1}')

    write(outcome, tmp_path)

    told = json.loads((tmp_path / "bench.json").read_text())
    assert told["other"] == 1
    assert len(told["fake"]["rows"]) == 5
    assert told["fake"]["targets"][0]["found"] == {"median": 1, "lowest": 1, "highest": 1}
    assert (tmp_path / "fake.md").read_text() == markdown(outcome)


def test_a_plot_is_written_where_there_is_matplotlib(outcome: Outcome, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")

    write(outcome, tmp_path)

    assert "CPU" in (tmp_path / "fake-cpu.svg").read_text()


def test_a_work_has_an_empty_folder_and_a_server_of_its_own(rounds: Rounds) -> None:
    works = {"ours": command, "peer": command}
    scenario = Scenario(id="x", title="x", cases=[Case(id="a", works=works)], measures=[])

    rows = list(rounds.rows(scenario))

    assert [row.failed for row in rows] == [""] * 4
    assert {(row.numbers["there"], row.numbers["requests"]) for row in rows} == {(1, 0)}
