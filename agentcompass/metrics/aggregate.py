"""The tasks of a run to one value: over tasks, over categories, or up a tree of categories."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from agentcompass.metrics.hierarchy import Branch, Node, fold, parse_hierarchy
from agentcompass.metrics.reducers import mean
from agentcompass.records.metrics import Breakdown, Counts
from agentcompass.records.request import Aggregation

Values = Mapping[str, Sequence[float]]
"""The values of evaluated tasks by category; a category without any may be empty or left out."""


@attrs.frozen(kw_only=True)
class Aggregate:
    """A run's value, and what the categories are in it.

    `weights` are raw, as metrics.json records them; `shares` add up to 1. `branches` are the
    nodes of the tree, where there is one.
    """

    value: float | None
    weights: Mapping[str, float]
    shares: Mapping[str, float]
    branches: Mapping[str, Branch] = attrs.field(factory=dict)


Aggregator = Callable[[Values], Aggregate]


def micro_weighted(values: Values) -> Aggregate:
    """The mean over evaluated tasks, so that a category weighs as many tasks as it has."""
    everything = [value for category in values.values() for value in category]
    weights = {category: float(len(observed)) for category, observed in values.items()}
    return Aggregate(
        value=mean(everything),
        weights=weights,
        shares={name: weight / len(everything) for name, weight in weights.items() if weight},
    )


def category_mean(values: Values) -> Aggregate:
    """The mean over the categories that have a value, each weighing the same."""
    means = {category: mean(observed) for category, observed in values.items()}
    present = {category: value for category, value in means.items() if value is not None}
    return Aggregate(
        value=mean([*present.values()]),
        weights={category: float(category in present) for category in values},
        shares={category: 1 / len(present) for category in present},
    )


def category_hierarchy(root: Node) -> Aggregator:
    """The value at the root of a tree; a category weighs its share of that."""

    def climb(values: Values) -> Aggregate:
        branches = fold(root, values)
        top = branches["overall"]
        return Aggregate(
            value=top.value,
            weights={category: top.shares.get(category, 0.0) for category in values},
            shares=top.shares,
            branches=branches,
        )

    return climb


FLAT: Mapping[Aggregation, Aggregator] = {
    "micro_weighted": micro_weighted,
    "category_mean": category_mean,
}


def aggregator(
    aggregation: Aggregation, hierarchy: Mapping[str, Any] | Node | None
) -> tuple[str, Aggregator]:
    """The function that is asked for and its recorded name; a hierarchy overrides the mode."""
    if hierarchy is not None:
        root = hierarchy if isinstance(hierarchy, Node) else parse_hierarchy(hierarchy)
        return "category_hierarchy", category_hierarchy(root)
    if aggregation not in FLAT:
        raise ValueError(f"aggregation {aggregation!r} is not one of {sorted(FLAT)}")
    return aggregation, FLAT[aggregation]


def breakdown(value: float | None, counts: Counts, weight: float, *, failed: bool) -> Breakdown:
    """A part of a series; in a failed evaluation its value is no more than a reference."""
    return Breakdown(
        value=None if failed else value,
        reference_value=value if failed else None,
        counts=counts,
        aggregation_weight=weight,
    )
