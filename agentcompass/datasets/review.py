"""What `agentcompass data check` finds: is it what was fetched, and can it be run? Blocking."""

from collections.abc import Sequence

from agentcompass.abilities import ChecksData
from agentcompass.config.components import build_component
from agentcompass.datasets.check import differences
from agentcompass.datasets.manifest import Listed
from agentcompass.datasets.place import Place, read_marker
from agentcompass.errors import DataUnavailable
from agentcompass.plugin_edge import plugin_edge


def review(listed: Listed, place: Place) -> list[str]:
    """Every fault, one line each; none where the data set is fine.

    Files are compared with what was fetched, byte by byte, unless the user put them there; the
    benchmark then looks at its rows. Raises `UsageError` where there is nothing to look at.
    """
    if place.state() == "missing":
        raise DataUnavailable(
            f"no data set {place.data_set.id!r} in {place.target}: fetch it by `agentcompass data"
            f" fetch {place.data_set.id}`, or {place.by_hand()}"
        )
    marker = read_marker(place.target)
    faults = [] if marker is None else differences(place.target, marker["files"], content=True)
    return [*faults, *_row_faults(listed, place)]


def _row_faults(listed: Listed, place: Place) -> Sequence[str]:
    name = f"benchmark {listed.benchmark!r}"
    benchmark = build_component("benchmark", listed.benchmark, {}, path=name)
    if isinstance(benchmark, ChecksData):
        with plugin_edge(f"{name}: check_data"):
            return tuple(benchmark.check_data(place.target))
    with plugin_edge(f"{name}: load_tasks"):
        tasks = benchmark.load_tasks(place.data_dir)
    return [f"{task.task_id}: {task.fault}" for task in tasks if task.fault]
