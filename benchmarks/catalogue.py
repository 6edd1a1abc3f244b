"""Every scenario that `python -m benchmarks` knows."""

from collections.abc import Callable

from benchmarks import commands, containers, endings, overhead, reuse, start_up
from benchmarks.scenario import Scenario

# Each makes its scenario: where `quick` a small one, over within a minute for all but the peers.
SCENARIOS: dict[str, Callable[[bool], Scenario]] = {
    "start_up": start_up.scenario,
    "overhead": overhead.scenario,
    "commands": commands.scenario,
    "containers": containers.scenario,
    "reuse": reuse.scenario,
    "endings": endings.scenario,
}
