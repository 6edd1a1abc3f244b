"""The report of a run: every series of its attempt plan, from what was observed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from agentcompass.metrics.aggregate import Aggregate, Aggregator, Values, aggregator, breakdown
from agentcompass.metrics.hierarchy import Node, parse_hierarchy, require_categories
from agentcompass.metrics.interval import confidence_interval, missing_interval
from agentcompass.metrics.observations import TaskObservations, check_observations
from agentcompass.metrics.reducers import REDUCERS, mean, pass_at
from agentcompass.metrics.states import Standing, category_of, count, standing
from agentcompass.records.metrics import (
    Breakdown,
    Counts,
    MetricContract,
    MetricReport,
    MetricSeries,
    Reducer,
    sum_counts,
)
from agentcompass.records.request import Aggregation, AttemptPlan, Strategy

_Group = list[tuple[Standing, float | None]]

_UNSEEN = TaskObservations(task_id="")


def build_report(
    observations: Sequence[TaskObservations],
    contract: MetricContract,
    *,
    k: int,
    strategy: Strategy,
    aggregation: Aggregation = "micro_weighted",
    category_hierarchy: Mapping[str, Any] | Node | None = None,
    total: int | None = None,
) -> MetricReport:
    """Reduce attempts to tasks, and tasks to the run's values (docs/cli.md, Reading the table).

    `total` is the number of selected tasks: those beyond `observations` never started, and count
    as missing without a category. Raises `ContractInvalid` for a strategy that the contract cannot
    serve, `MetricInvalid` for an observation that it does not allow, `HierarchyInvalid`, and
    `ValueError` for a task observed twice or a `total` below what was observed.
    """
    plan = AttemptPlan(k=k, strategy=strategy)
    contract.check_strategy(strategy)
    check_observations(observations, contract, k=k)
    if category_hierarchy is not None:
        category_hierarchy = _checked(category_hierarchy, observations)
    name, aggregate = aggregator(aggregation, category_hierarchy)
    tasks = [*observations, *_unseen(len(observations), total)]
    standings = [standing(task, plan, primary=contract.primary) for task in tasks]
    failed = any(task.invalidated for task in standings)
    run = _Run(
        contract=contract,
        plan=plan,
        tasks=tasks,
        standings=standings,
        aggregation=name,
        aggregate=aggregate,
        failed=failed,
    )
    return MetricReport(
        aggregation=name,
        evaluation_failed=failed,
        k=k,
        strategy=strategy,
        series=tuple(run.series(metric, reducer) for metric, reducer in planned(contract, plan)),
    )


def planned(contract: MetricContract, plan: AttemptPlan) -> Iterator[tuple[str, Reducer]]:
    """The series of a plan, the primary's first: one attempt as it is, else each reducer."""
    order = sorted(contract.specs, key=lambda metric: metric != contract.primary)
    if plan.k == 1:
        yield from ((metric, "native") for metric in order)
    elif plan.strategy == "pass":
        yield contract.primary, "pass"
    else:
        for metric in order:
            yield from ((metric, reducer) for reducer in contract.specs[metric].reducers)


def _checked(tree: Mapping[str, Any] | Node, tasks: Sequence[TaskObservations]) -> Node:
    root = tree if isinstance(tree, Node) else parse_hierarchy(tree)
    require_categories(root, (category_of(task) for task in tasks if task.attempts))
    return root


def _unseen(observed: int, total: int | None) -> list[TaskObservations]:
    if total is not None and total < observed:
        raise ValueError(f"{observed} tasks were observed, more than the total of {total}")
    return [_UNSEEN] * ((total or observed) - observed)


@attrs.frozen(kw_only=True)
class _Run:
    """All that the series of a run have in common."""

    contract: MetricContract
    plan: AttemptPlan
    tasks: Sequence[TaskObservations]
    standings: Sequence[Standing]
    aggregation: str
    aggregate: Aggregator
    failed: bool

    def series(self, metric: str, reducer: Reducer) -> MetricSeries:
        spec, k = self.contract.specs[metric], self.plan.k
        values = [REDUCERS[reducer](task.values(metric), k) for task in self.tasks]
        groups = self._groups(values)
        counts = {category: count(group) for category, group in groups.items()}
        evaluated = {category: _evaluated(group) for category, group in groups.items()}
        aggregate = self.aggregate(evaluated)
        return MetricSeries(
            series_id=f"{metric}.{reducer}@{k}",
            metric_id=metric,
            kind=spec.kind,
            reducer=reducer,
            role=spec.role,
            aggregation=self.aggregation,
            display=spec.display,
            k=k,
            value=None if self.failed else aggregate.value,
            reference_value=aggregate.value if self.failed else None,
            counts=sum_counts(counts.values()),
            categories=self._categories(aggregate, evaluated, counts),
            hierarchy=self._hierarchy(aggregate, counts),
            extra=self._extra(metric, reducer, evaluated, counts) if spec.primary else {},
        )

    def _groups(self, values: Sequence[float | None]) -> dict[str, _Group]:
        groups: dict[str, _Group] = {}
        for task, value in zip(self.standings, values, strict=True):
            groups.setdefault(task.category, []).append((task, value))
        return dict(sorted(groups.items()))

    def _categories(
        self, aggregate: Aggregate, evaluated: Values, counts: Mapping[str, Counts]
    ) -> dict[str, Breakdown]:
        return {
            name: breakdown(
                mean(evaluated[name]), counts[name], aggregate.weights[name], failed=self.failed
            )
            for name in counts
        }

    def _hierarchy(
        self, aggregate: Aggregate, counts: Mapping[str, Counts]
    ) -> dict[str, Breakdown]:
        return {
            path: breakdown(
                branch.value,
                sum_counts(counts[name] for name in branch.categories if name in counts),
                branch.weight,
                failed=self.failed,
            )
            for path, branch in sorted(aggregate.branches.items())
        }

    def _extra(
        self, metric: str, reducer: Reducer, evaluated: Values, counts: Mapping[str, Counts]
    ) -> dict[str, Any]:
        """What is told beside the value; in a failed evaluation, beside the reference."""
        kind, shares = self.contract.specs[metric].kind, self.aggregate(evaluated).shares
        missing = {name: part.total - part.evaluated for name, part in counts.items()}
        found = {
            "missing": sum(missing.values()),
            "interval": missing_interval(evaluated, missing, self.aggregate, kind),
            "confidence_interval": confidence_interval(
                evaluated, shares, kind, stratified=self.aggregation != "micro_weighted"
            ),
        }
        extra = {name: value for name, value in found.items() if value is not None}
        if kind == "binary_success" and reducer == "avg":
            extra["pass_at"] = self._pass_at(evaluated)
        return extra

    def _pass_at(self, evaluated: Values) -> dict[str, float | None]:
        """pass@j for j = 1..k, aggregated as the series is, over the very tasks that avg counts.

        Those have k observations each, so pass@1 is the value of avg@k and no j is over other
        tasks than another. The series `pass@k` may count more: any success decides it.
        """
        k = self.plan.k
        counts = {round(value * k) for values in evaluated.values() for value in values}
        result = {}
        for j in range(1, k + 1):
            estimates = {c: pass_at(j, attempts=k, successes=c) or 0.0 for c in counts}
            by_category = {
                name: [estimates[round(value * k)] for value in values]
                for name, values in evaluated.items()
            }
            result[str(j)] = self.aggregate(by_category).value
        return result


def _evaluated(group: _Group) -> list[float]:
    return [value for task, value in group if value is not None and not task.invalidated]
