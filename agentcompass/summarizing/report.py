"""The report of a recorded run, counted as the run itself counts."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentcompass.errors import UsageError
from agentcompass.metrics.aggregate import FLAT
from agentcompass.metrics.hierarchy import HierarchyInvalid
from agentcompass.metrics.inference import inferred_contract
from agentcompass.metrics.observations import TaskObservations, check_observations
from agentcompass.metrics.report import build_report
from agentcompass.records.metrics import (
    ContractInvalid,
    MetricContract,
    MetricInvalid,
    MetricReport,
)
from agentcompass.records.request import Aggregation
from agentcompass.records.run_info import MetricBasis, declared
from agentcompass.summarizing.recorded import Recorded

log = logging.getLogger(__name__)


def report_on(
    run: Recorded, params: Mapping[str, Any], *, spell: Callable[[str], str] = str
) -> MetricReport:
    """The report, with the benchmark parameters of `config.summary_params` over the recorded ones.

    A selected task that did not finish, or that is left out, is missing. Raises `UsageError` for
    ids that the run does not have, and for an aggregation that does not fit its tasks.
    """
    basis = run.info.metric_basis or _shown_basis(run)
    try:
        contract = basis.contract
        _leave_out_unfit(run, contract)
        return build_report(
            _selected(run, params.get("sample_ids"), spell("benchmark_params")),
            contract,
            k=run.plan.k,
            strategy=run.plan.strategy,
            aggregation=params.get("aggregation_mode", basis.aggregation_mode),
            category_hierarchy=_hierarchy(basis, params),
        )
    except (ContractInvalid, HierarchyInvalid) as error:
        raise UsageError(f"these metrics cannot be reported: {error}") from error


def _hierarchy(basis: MetricBasis, params: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """A mode that is asked for stands over a recorded hierarchy, which would hide it."""
    recorded = None if "aggregation_mode" in params else basis.category_hierarchy
    found: Mapping[str, Any] | None = params.get("category_hierarchy", recorded)
    return found


def _shown_basis(run: Recorded) -> MetricBasis:
    """What the records of a run show that has no basis on record, as the peer's have not."""
    recorded = (
        attempt.metrics for task in run.observed.values() for attempt in task.attempts.values()
    )
    return MetricBasis(
        metrics=declared(inferred_contract(recorded)),
        aggregation_mode=_aggregation(run),
        category_hierarchy=run.benchmark_params.get("category_hierarchy"),
    )


def _aggregation(run: Recorded) -> Aggregation:
    """The mode that the run was asked for, or else the one that its own report names."""
    made = run.info.metric_artifacts
    reported = made.report.get("aggregation") if made and made.source == "evaluation" else None
    asked = run.benchmark_params.get("aggregation_mode")
    for mode in FLAT:
        if mode == (asked or reported):
            return mode
    if reported not in (None, "category_hierarchy"):
        log.warning("%s is the benchmark's own aggregation: reported by tasks instead", reported)
    return "micro_weighted"


def _leave_out_unfit(run: Recorded, contract: MetricContract) -> None:
    """Take back what is readable and yet cannot be counted with the rest."""
    ids = run.info.task_ids
    selected = None if ids is None else frozenset(ids)
    for task_id, task in list(run.observed.items()):
        fault = _unfit(task, run, contract)
        if selected is not None and task_id not in selected:
            fault = f"task {task_id!r} is not one that the run selected"
        if fault:
            del run.observed[task_id]
            run.leave_out(fault)


def _unfit(task: TaskObservations, run: Recorded, contract: MetricContract) -> str:
    if plan := run.odd_plans.get(task.task_id):
        return f"task {task.task_id!r} has k={plan.k}, strategy {plan.strategy}, unlike its run"
    try:
        check_observations([task], contract, k=run.plan.k)
    except MetricInvalid as error:
        return str(error)
    return ""


def _selected(
    run: Recorded, sample_ids: Sequence[str] | None, label: str
) -> list[TaskObservations]:
    """The selected tasks in order; the tasks found are all there are where none are on record."""
    ids = list(run.observed) if run.info.task_ids is None else list(run.info.task_ids)
    if sample_ids is not None:
        wanted = frozenset(sample_ids)
        if unknown := sorted(wanted - frozenset(ids)):
            names = ", ".join(map(repr, unknown))
            raise UsageError(f"{label}.sample_ids: {names} not among the {len(ids)} tasks")
        ids = [task_id for task_id in ids if task_id in wanted]
    categories = run.info.task_categories or {}
    return [
        run.observed.get(task_id)
        or TaskObservations(task_id=task_id, category=categories.get(task_id))
        for task_id in ids
    ]
