"""All that came of a scenario."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import attrs

from benchmarks.figures import Judged, judged
from benchmarks.scenario import Found, Scenario
from benchmarks.turns import Row, found_in


@attrs.define(kw_only=True, slots=False)
class Outcome:
    """A scenario, its rows, and who took part: `versions` are None for who is not installed."""

    scenario: Scenario
    rows: Sequence[Row]
    versions: Mapping[str, str | None]
    machine: Mapping[str, Any]

    @cached_property
    def found(self) -> Found:
        """Every number, by round; those that the scenario derives too."""
        return self.scenario.derive(found_in(self.rows))

    @property
    def judged(self) -> list[Judged]:
        """Its targets, each beside what was found."""
        return [judged(target, self.found) for target in self.scenario.targets]

    @property
    def absent(self) -> list[str]:
        """Who would have taken part, were it installed."""
        asked = dict.fromkeys(who for case in self.scenario.cases for who in case.works)
        return [who for who in asked if who in self.versions and self.versions[who] is None]
