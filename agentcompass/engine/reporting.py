"""What a benchmark measures, asked once, and the report of what a request observed of it."""

from collections.abc import Sequence

from agentcompass.engine.job import Job
from agentcompass.metrics.observations import TaskObservations
from agentcompass.metrics.report import build_report
from agentcompass.plugin_edge import plugin_edge
from agentcompass.records.metrics import MetricReport
from agentcompass.records.run_info import MetricBasis, declared


def metric_basis(job: Job) -> MetricBasis:
    """What the benchmark says once its tasks are loaded; it holds for the whole run.

    Raises `PluginFailed`.
    """
    with plugin_edge(f"benchmark {job.request.benchmark.id!r}: metric_contract"):
        return MetricBasis(
            metrics=declared(job.benchmark.metric_contract()),
            aggregation_mode=job.benchmark.aggregation_mode,
            category_hierarchy=job.benchmark.category_hierarchy,
        )


def make_report(
    job: Job, basis: MetricBasis, observations: Sequence[TaskObservations]
) -> MetricReport:
    """Every metric, by what the benchmark declares. Long for many tasks: call it in a thread."""
    attempts = job.request.execution.attempts
    return build_report(
        observations,
        basis.contract,
        k=attempts.k,
        strategy=attempts.strategy,
        aggregation=basis.aggregation_mode,
        category_hierarchy=basis.category_hierarchy,
    )
