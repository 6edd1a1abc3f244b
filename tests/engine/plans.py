"""A plan from nothing, as the engine makes it for a task that is unlike the one before."""

from collections.abc import Sequence

from agentcompass.engine.plan import plan_of_task, with_recipes, with_wishes
from agentcompass.protocols import Recipe
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.request import RunRequest
from agentcompass.records.task import EvaluationMode, TaskSpec


def resolve_plan(
    request: RunRequest,
    task: TaskSpec,
    *,
    evaluation_mode: EvaluationMode,
    default_run_timeout_seconds: float | None,
    recipes: Sequence[Recipe] = (),
) -> ExecutionPlan:
    """The plan of every attempt of `task`. Multipliers are applied; recipes are tried in order."""
    draft = plan_of_task(request, task, evaluation_mode, default_run_timeout_seconds)
    return with_wishes(with_recipes(draft, task, recipes), request, task)
