"""The public data sets of the benchmarks that are built in or installed."""

import logging

import attrs

from agentcompass.abilities import HasData
from agentcompass.config.components import component_class
from agentcompass.errors import UsageError
from agentcompass.records.data_set import DataSet
from agentcompass.registry import known

log = logging.getLogger(__name__)


@attrs.frozen(kw_only=True)
class Listed:
    """A data set, and the benchmark that measures on it."""

    data_set: DataSet
    benchmark: str


def listed() -> dict[str, Listed]:
    """Every data set by its id; a benchmark that cannot be imported is passed over, and logged."""
    found: dict[str, Listed] = {}
    for benchmark in known("benchmark"):
        try:
            component = component_class("benchmark", benchmark)
        except UsageError as error:
            log.warning("%s", error)
            continue
        if isinstance(component, HasData):
            data_set = component.data_set
            found.setdefault(data_set.id, Listed(data_set=data_set, benchmark=benchmark))
    return found


def find(data_set_id: str) -> Listed:
    """One data set; `UsageError` names the known ones."""
    found = listed()
    if data_set_id not in found:
        names = ", ".join(found) or "none"
        raise UsageError(f"data set {data_set_id!r} is not known; known: {names}")
    return found[data_set_id]
