"""Where a run came from and how it ended: run_info.json, schema 3."""

from collections.abc import Mapping
from typing import Any

import attrs

from agentcompass.records.metrics import MetricContract, MetricSpec
from agentcompass.records.request import Aggregation

RUN_INFO_SCHEMA = "agentcompass.run_info.v3"

_LEFT_OUT = {"omit_none": True}


@attrs.frozen(kw_only=True)
class Origin:
    """The run that results were taken over from."""

    run_id: str | None = attrs.field(default=None, metadata=_LEFT_OUT)
    path: str | None = attrs.field(default=None, metadata=_LEFT_OUT)


@attrs.frozen(kw_only=True)
class MetricArtifacts:
    """Which plan and aggregation metrics.json and summary.md were made with, when, and by what.

    `source` is `evaluation` or `summary`; `report` holds k, strategy and aggregation.
    """

    generated_at: str
    source: str = "evaluation"
    report: Mapping[str, Any]
    benchmark_params_override: Mapping[str, Any] | None = attrs.field(
        default=None, metadata=_LEFT_OUT
    )


@attrs.frozen(kw_only=True)
class DeclaredMetric(MetricSpec):
    """One metric of a contract, with its name."""

    metric_id: str


@attrs.frozen(kw_only=True)
class MetricBasis:
    """What a benchmark declared to measure, in order, and how its tasks become one value.

    On record, since some benchmarks know it only from their data, which may be gone later.
    """

    metrics: tuple[DeclaredMetric, ...]
    aggregation_mode: Aggregation = "micro_weighted"
    category_hierarchy: Mapping[str, Any] | None = None

    @property
    def contract(self) -> MetricContract:
        """The metrics as a contract; raises `ContractInvalid` where they are none."""
        return MetricContract(specs={metric.metric_id: metric for metric in self.metrics})


def declared(contract: MetricContract) -> tuple[DeclaredMetric, ...]:
    """The metrics of a contract, in order."""
    return tuple(
        DeclaredMetric(metric_id=metric, **attrs.asdict(spec, recurse=False))
        for metric, spec in contract.specs.items()
    )


@attrs.frozen(kw_only=True)
class RunInfo:
    """run_info.json (docs/run-directory.md). Times are ISO 8601 with their offset.

    `request` is the merged request as it was written, without secrets; `task_ids` are the
    selected tasks in order, `task_categories` the categories of those that have one, and
    `unsaved_tasks` those of which a record could not be written, which voids them. `data_set` has
    id, path, and of one that was fetched the revision and checksum. `spent` is what the model calls
    of this very run took, `budget_used_up` why it made no more of them. `owner` is the process that
    writes the run (`store/owner.py`). What is None has not come about yet, and is not written.
    """

    schema_version: str = RUN_INFO_SCHEMA
    run_id: str
    started_at: str
    owner: str | None = attrs.field(default=None, metadata=_LEFT_OUT)
    request: Mapping[str, Any]
    unsaved_tasks: tuple[str, ...] | None = attrs.field(default=None, metadata=_LEFT_OUT)
    reused_from: Origin | None = attrs.field(default=None, metadata=_LEFT_OUT)
    data_set: Mapping[str, Any] | None = attrs.field(default=None, metadata=_LEFT_OUT)
    task_ids: tuple[str, ...] | None = attrs.field(default=None, metadata=_LEFT_OUT)
    task_categories: Mapping[str, str] | None = attrs.field(default=None, metadata=_LEFT_OUT)
    metric_basis: MetricBasis | None = attrs.field(default=None, metadata=_LEFT_OUT)
    resolved_execution_plans: Mapping[str, Mapping[str, Mapping[str, Any]]] | None = attrs.field(
        default=None, metadata=_LEFT_OUT
    )
    metric_artifacts: MetricArtifacts | None = attrs.field(default=None, metadata=_LEFT_OUT)
    spent: Mapping[str, Any] | None = attrs.field(default=None, metadata=_LEFT_OUT)
    budget_used_up: str | None = attrs.field(default=None, metadata=_LEFT_OUT)
    status: str | None = attrs.field(default=None, metadata=_LEFT_OUT)
    finished_at: str | None = attrs.field(default=None, metadata=_LEFT_OUT)
    error: str | None = attrs.field(default=None, metadata=_LEFT_OUT)
