"""What a scenario is made of; `benchmarks/README.md` says how to add one."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import attrs

from benchmarks.contestants import Contestant
from benchmarks.cost import cost_of
from benchmarks.model_server import ModelServer

Numbers = Mapping[str, float]


@attrs.frozen
class Cell:
    """One number of a scenario: who, in which case, what was measured."""

    case: str
    contestant: str
    measure: str


# What was measured, round by round; what failed or was left out is not in it.
Found = Mapping[Cell, Sequence[float]]


@attrs.frozen(kw_only=True)
class Turn:
    """What one contestant is given for one case of one round."""

    contestant: Contestant
    folder: Path  # empty, on the disk that is measured, removed when all is over
    environ: Mapping[str, str]
    server: ModelServer

    def cost(self, command: Sequence[str], timeout_seconds: float = 3600) -> dict[str, float]:
        """Run it in the turn's folder and return what it cost (`benchmarks.cost.cost_of`).

        Raises `TurnFailed` where it ends with anything but 0, or not in time.
        """
        return cost_of(command, self.folder, self.environ, timeout_seconds)


Work = Callable[[Turn], Numbers]


@attrs.frozen(kw_only=True)
class Case:
    """The same work for all: `works` says, by contestant, how each does it.

    Who is not in `works` takes no part. Who is `slow` takes its turn in the last round only.
    """

    id: str
    works: Mapping[str, Work]
    slow: Collection[str] = ()


@attrs.frozen(kw_only=True)
class Measure:
    """A column: the number `id`, times `scale`, below a title that names its unit."""

    id: str
    title: str
    scale: float = 1.0


@attrs.frozen(kw_only=True)
class Target:
    """The number `of` (over the number `over`, where there is one) shall be at most `at_most`."""

    what: str
    of: Cell
    at_most: float
    over: Cell | None = None


@attrs.frozen(kw_only=True)
class Plot:
    """One measure as a picture: lines over the numbers `x` of cases, or bars for each case."""

    id: str
    title: str
    measure: str
    cases: Sequence[str] = ()  # all of them where empty; for bars
    x: Mapping[str, float] = attrs.field(factory=dict)
    x_title: str = ""


def as_found(found: Found) -> Found:
    """The numbers as they were measured."""
    return found


@attrs.frozen(kw_only=True)
class Scenario:
    """Cases, and what is shown of them.

    `derive` makes the numbers that are told from all that were measured, e.g. those of a task.
    """

    id: str
    title: str
    cases: Sequence[Case]
    measures: Sequence[Measure]
    targets: Sequence[Target] = ()
    plots: Sequence[Plot] = ()
    derive: Callable[[Found], Found] = as_found
