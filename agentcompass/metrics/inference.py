"""The contract that recorded metrics show, for runs that did not put theirs on record."""

from collections.abc import Iterable, Mapping

from agentcompass.records.metrics import (
    PRIMARY_KINDS,
    Kind,
    MetricContract,
    binary_contract,
    scalar_contract,
)


def inferred_contract(recorded: Iterable[Mapping[str, bool | float]]) -> MetricContract:
    """Booleans are binary, numbers scalar, in the order in which attempts bring them.

    The primary is `correct`, unless a number under `score` was recorded and no verdict under
    `correct`. A reserved name that is not the primary's is left out: no contract can hold it.
    """
    kinds: dict[str, Kind] = {}
    for metrics in recorded:
        for metric, value in metrics.items():
            if isinstance(value, bool):
                kinds[metric] = "binary_success"
            else:
                kinds.setdefault(metric, "scalar")
    is_scored = kinds.get("score") == "scalar" and kinds.get("correct") != "binary_success"
    contract = scalar_contract() if is_scored else binary_contract()
    for metric, kind in kinds.items():
        if metric not in PRIMARY_KINDS and metric and metric == metric.strip():
            contract = contract.with_auxiliary(metric, kind)
    return contract
