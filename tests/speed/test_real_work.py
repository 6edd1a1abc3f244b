"""The scenarios about processes and finished runs do what they say, on a small scale."""

import signal
from collections.abc import Mapping
from pathlib import Path

from benchmarks import commands, endings, reuse
from benchmarks.contestants import CONTESTANTS
from benchmarks.processes import open_place
from benchmarks.scenario import Case, Cell, Found, Scenario, Work
from benchmarks.turns import Rounds, found_in


def measured(folder: Path, cases: Mapping[str, Mapping[str, Work]]) -> Found:
    """One round, in which nothing failed."""
    made = [Case(id=name, works=works) for name, works in cases.items()]
    who = {name: CONTESTANTS[name] for works in cases.values() for name in works}
    with open_place(folder) as place:
        rounds = Rounds(count=1, contestants=who, place=place)
        rows = list(rounds.rows(Scenario(id="x", title="x", cases=made, measures=[])))
    assert [row.failed for row in rows if row.failed] == []
    return found_in(rows)


def test_a_tree_that_ignores_signals_runs_and_is_gone_once_its_run_is(tmp_path: Path) -> None:
    found = measured(tmp_path, {"one": {"ours": endings.ending(endings.ours, 1, signal.SIGTERM)}})

    assert found[Cell("one", "ours", "survivors")] == [0]
    assert found[Cell("one", "ours", "hung")] == [0]


def test_every_loop_runs_the_commands_that_this_engine_runs(tmp_path: Path) -> None:
    work = commands.work_of(commands.Commands(tasks=2, times=2))

    found = measured(tmp_path, {"two": dict.fromkeys(("ours", "bare_run", "bare_spawn"), work)})

    assert {cell.contestant for cell in found} == {"ours", "bare_run", "bare_spawn"}


def test_a_reused_run_and_a_copy_have_the_files_of_the_executed_one(tmp_path: Path) -> None:
    steps = {
        name: {who: reuse.work_of(step, 2) for who, step in by.items() if who != "peer"}
        for name, by in reuse.STEPS.items()
    }

    found = measured(tmp_path, steps)

    files = {cell.case: values for cell, values in found.items() if cell.measure == "files"}
    assert len(files) == 4
    assert len(set(map(tuple, files.values()))) == 1
