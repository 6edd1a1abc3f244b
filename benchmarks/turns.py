"""Every contestant in turn, round by round, on the same work."""

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from benchmarks.contestants import Contestant, environ_of
from benchmarks.cost import TurnFailed
from benchmarks.model_server import model_server
from benchmarks.processes import Place
from benchmarks.scenario import Case, Cell, Found, Numbers, Scenario, Turn


@attrs.frozen(kw_only=True)
class Row:
    """What came of one turn: numbers, or why there are none; `load` is the minute's before it."""

    case: str
    contestant: str
    round: int
    load: float
    numbers: Numbers = attrs.field(factory=dict)
    failed: str = ""


@attrs.frozen(kw_only=True)
class Rounds:
    """How often, who, and where."""

    count: int
    contestants: Mapping[str, Contestant]
    place: Place

    def rows(self, scenario: Scenario) -> Iterator[Row]:
        """Take all turns of a scenario."""
        for number in range(1, self.count + 1):
            for case in scenario.cases:
                for contestant in self._taking_part(case, last=number == self.count):
                    row = self._row(case, contestant, number)
                    _tell(scenario, row)
                    yield row

    def _taking_part(self, case: Case, *, last: bool) -> Sequence[Contestant]:
        there = [who for name, who in self.contestants.items() if name in case.works]
        return [who for who in there if last or who.id not in case.slow]

    def _row(self, case: Case, contestant: Contestant, number: int) -> Row:
        row = Row(
            case=case.id, contestant=contestant.id, round=number, load=round(os.getloadavg()[0], 2)
        )
        # It is removed with the place, not now: for minutes ext4 looks through every inode that was
        # freed before it makes a new one nearby, and the next turn would pay for it.
        folder = Path(tempfile.mkdtemp(prefix="turn-", dir=self.place.folder))
        try:
            return attrs.evolve(row, numbers=self._numbers(case, contestant, folder))
        except TurnFailed as error:
            return attrs.evolve(row, failed=str(error))

    def _numbers(self, case: Case, contestant: Contestant, folder: Path) -> Numbers:
        python_path = self.place.environ["PYTHONPATH"]
        with model_server() as server:
            turn = Turn(
                contestant=contestant,
                folder=folder,
                environ=environ_of(contestant, self.place.folder, python_path),
                server=server,
            )
            return case.works[contestant.id](turn)


def _tell(scenario: Scenario, row: Row) -> None:
    what = f"{scenario.id}: {row.case}, {row.contestant}, round {row.round}"
    seconds = row.numbers.get("wall_seconds")
    end = row.failed or ("done" if seconds is None else f"{seconds:.2f} s")
    sys.stderr.write(f"{what}: {end}\n")


def found_in(rows: Sequence[Row]) -> Found:
    """The numbers of all rows by who, in which case, and what."""
    found: dict[Cell, list[float]] = {}
    for row in rows:
        for measure, value in row.numbers.items():
            found.setdefault(Cell(row.case, row.contestant, measure), []).append(value)
    return found
