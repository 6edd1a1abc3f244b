"""The report of what a request observed."""

from collections.abc import Sequence

from agentcompass.engine.job import Job
from agentcompass.metrics.observations import TaskObservations
from agentcompass.metrics.report import build_report
from agentcompass.records.metrics import MetricReport


def make_report(job: Job, observations: Sequence[TaskObservations]) -> MetricReport:
    """Every metric, by what the benchmark declares. Long for many tasks: call it in a thread."""
    attempts = job.request.execution.attempts
    benchmark = job.benchmark
    return build_report(
        observations,
        benchmark.metric_contract(),
        k=attempts.k,
        strategy=attempts.strategy,
        aggregation=benchmark.aggregation_mode,
        category_hierarchy=benchmark.category_hierarchy,
    )
