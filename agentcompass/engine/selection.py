"""What goes on record of the selected tasks before any runs: all that a later summary needs."""

from collections.abc import Sequence
from typing import Any

from agentcompass.records.run_info import MetricBasis
from agentcompass.records.task import TaskSpec


def selection_record(basis: MetricBasis, tasks: Sequence[TaskSpec]) -> dict[str, Any]:
    """Fields of run_info.json, by which a summary counts the tasks as the run itself does."""
    categories = {task.task_id: task.category for task in tasks if task.category is not None}
    return {
        "task_ids": [task.task_id for task in tasks],
        "task_categories": categories or None,
        "metric_basis": basis,
    }
