"""What the attempts of one task share, and what they say together."""

from collections.abc import Mapping
from typing import Literal

from agentcompass.engine.job import Job
from agentcompass.errors import Severity
from agentcompass.metrics.observations import AttemptObservation, TaskObservations
from agentcompass.records.attempt import AttemptResult, TaskHeader
from agentcompass.records.issue import highest_severity
from agentcompass.records.task import TaskSpec


def task_header(job: Job, task: TaskSpec) -> TaskHeader:
    """What the attempts of `task` share."""
    return TaskHeader(
        task_id=task.task_id,
        category=task.category,
        ground_truth=task.ground_truth,
        attempt_plan=job.request.execution.attempts,
    )


def severity_of(results: Mapping[int, AttemptResult]) -> Severity | Literal[""]:
    """The heaviest severity in any of a task's attempts."""
    return highest_severity(issue for result in results.values() for issue in result.issues)


def observations(task: TaskSpec, results: Mapping[int, AttemptResult]) -> TaskObservations:
    """What the metrics need of the attempts of a task."""
    return TaskObservations(
        task_id=task.task_id,
        category=task.category,
        attempts={
            number: AttemptObservation(
                metrics=result.metrics, severity=highest_severity(result.issues)
            )
            for number, result in results.items()
        },
    )
