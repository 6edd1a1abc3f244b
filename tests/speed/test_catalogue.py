"""What a scenario shows is what it measures, and the work is really done."""

from pathlib import Path

import pytest

from benchmarks.calls import Load, works
from benchmarks.catalogue import SCENARIOS
from benchmarks.contestants import CONTESTANTS
from benchmarks.processes import open_place
from benchmarks.scenario import Case, Cell, Scenario
from benchmarks.turns import Rounds, found_in


@pytest.fixture(params=SCENARIOS)
def scenario(request: pytest.FixtureRequest) -> Scenario:
    return SCENARIOS[request.param](False)


def test_a_target_is_about_what_the_scenario_measures(scenario: Scenario) -> None:
    there = {
        Cell(case.id, who, measure.id)
        for case in scenario.cases
        for who in case.works
        for measure in scenario.measures
    }

    for target in scenario.targets:
        assert {cell for cell in (target.of, target.over) if cell is not None} <= there


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_plot_is_of_what_the_scenario_measures(name: str, quick: bool) -> None:
    scenario = SCENARIOS[name](quick)
    cases, measures = ({one.id for one in many} for many in (scenario.cases, scenario.measures))

    for plot in scenario.plots:
        assert plot.measure in measures
        assert {*plot.cases, *plot.x} <= cases


def test_who_takes_part_is_known(scenario: Scenario) -> None:
    assert {who for case in scenario.cases for who in case.works} <= set(CONTESTANTS)


def test_this_engine_and_the_loops_without_one_make_the_same_calls(tmp_path: Path) -> None:
    names = ("ours", "bare_file", "bare_h11", "bare_raw")
    case = Case(id="2 tasks", works=works(Load(tasks=2, concurrency=2), *names))
    scenario = Scenario(id="x", title="x", cases=[case], measures=[])
    with open_place(tmp_path) as place:
        who = {name: CONTESTANTS[name] for name in names}
        rows = list(Rounds(count=1, contestants=who, place=place).rows(scenario))

    assert [row.failed for row in rows] == [""] * 4
    found = found_in(rows)
    assert found[Cell("2 tasks", "bare_file", "files")] == [2]
