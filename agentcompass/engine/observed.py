"""What the attempts of one task share, and what they say together."""

from collections.abc import Mapping

from agentcompass.engine.job import Job
from agentcompass.metrics.observations import TaskObservations, observed
from agentcompass.records.attempt import AttemptResult, TaskHeader
from agentcompass.records.task import TaskSpec


def task_header(job: Job, task: TaskSpec) -> TaskHeader:
    """What the attempts of `task` share."""
    return TaskHeader(
        task_id=task.task_id,
        category=task.category,
        ground_truth=task.ground_truth,
        attempt_plan=job.request.execution.attempts,
    )


def observations(task: TaskSpec, results: Mapping[int, AttemptResult]) -> TaskObservations:
    """What the metrics need of the attempts of a task."""
    return observed(task.task_id, task.category, results)
