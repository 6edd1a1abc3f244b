"""The parameters that every benchmark has."""

from collections.abc import Mapping
from typing import Any

import attrs

from agentcompass.records.request import Aggregation


@attrs.frozen(kw_only=True)
class CommonConfig:
    """Which tasks are run, and how their values become one. How often is `--k`, not a field."""

    sample_ids: tuple[str, ...] | None = attrs.field(
        default=None,
        metadata={"help": "Ids of the tasks to run, in any order; null runs all, [] runs none."},
    )
    aggregation_mode: Aggregation = attrs.field(
        default="micro_weighted",
        metadata={
            "help": "micro_weighted: the mean over tasks; category_mean: the mean over categories,"
            " each the mean of its tasks."
        },
    )
    category_hierarchy: Mapping[str, Any] | None = attrs.field(
        default=None,
        metadata={
            "help": "A tree of categories {overall: {aggregation, weight, children}} to average"
            " by; it stands for aggregation_mode."
        },
    )
