"""One recipe over one plan: what it may change, and whose fault its bugs are."""

from copy import deepcopy
from typing import Any

import attrs

from agentcompass.errors import ConfigInvalid, PluginFailed, TaskInvalid
from agentcompass.plugin_edge import plugin_edge
from agentcompass.protocols import Recipe
from agentcompass.records.convert import structure_settings, unstructure
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.task import TaskSpec

# What a plan is for, and what the engine notes; no recipe changes it.
_FIXED = ("task_id", "benchmark", "harness", "applied_recipes")


def apply_recipe(recipe: Recipe, task: TaskSpec, plan: ExecutionPlan) -> ExecutionPlan:
    """The plan as `recipe` adjusts it, and itself where it does not match.

    Raises `TaskInvalid`, which names the recipe, for its bugs: they cost this task alone.
    """
    name = f"recipe {recipe.id!r}"
    try:
        with plugin_edge(f"{name}: matches"):
            matches = recipe.matches(task, plan)
        if not matches:
            return plan
        with plugin_edge(f"{name}: apply"):
            # copies: what it changes in place would be every task's
            adjusted = recipe.apply(deepcopy(task), deepcopy(plan))
            fault = _fault(plan, adjusted)
    except PluginFailed as error:
        raise TaskInvalid(str(error), code="recipe_failed") from error.__cause__
    if fault:
        raise TaskInvalid(f"{name}: apply: {fault}", code="recipe_failed")
    return attrs.evolve(adjusted, applied_recipes=(*plan.applied_recipes, recipe.id))


def _fault(plan: ExecutionPlan, adjusted: Any) -> str:
    if not isinstance(adjusted, ExecutionPlan):
        return f"returned {type(adjusted).__name__}, not an ExecutionPlan"
    changed = [name for name in _FIXED if getattr(adjusted, name) != getattr(plan, name)]
    if changed:
        return f"changed {', '.join(changed)}, which is not a recipe's to change"
    try:
        structure_settings(unstructure(adjusted), ExecutionPlan, path="plan")
    except ConfigInvalid as error:
        return str(error)
    return ""
