"""Most tasks ask for the same as the one before: then its plan is theirs too. Pure."""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import attrs

from agentcompass.records.environment import EnvironmentPlan
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.task import TaskSpec

# What no plan is made from, but for its task's id; the rest may make a difference.
_SAYS_NOTHING = frozenset(
    {"task_id", "instruction", "category", "ground_truth", "metadata", "warnings", "fault"}
)
_said = attrgetter(*(f.name for f in attrs.fields(TaskSpec) if f.name not in _SAYS_NOTHING))


@attrs.define(eq=False)
class PlanMemory:
    """The latest plan that no recipe had a part in: `draft` is what recipes were shown."""

    _asked: tuple[Any, ...] = ()
    _draft: ExecutionPlan | None = None
    _plan: ExecutionPlan | None = None

    def draft(self, task: TaskSpec, *defaults: Any) -> ExecutionPlan | None:
        """The draft for a task that asks for the same, under the same defaults; else None."""
        if self._draft is None or self._asked != (*defaults, *_said(task)):
            return None
        return _for_task(self._draft, task.task_id)

    def plan(self, draft: ExecutionPlan) -> ExecutionPlan:
        """The plan of the task whose draft was given out, where recipes left that as it was."""
        assert self._plan is not None, "there is a draft only where there is a plan"
        return draft if self._plan is self._draft else _for_task(self._plan, draft.task_id)

    def keep(
        self, task: TaskSpec, *defaults: Any, draft: ExecutionPlan, plan: ExecutionPlan
    ) -> None:
        """Remember what `task` asked for, and what came of it."""
        asked = (*defaults, *_said(task))
        self._asked = tuple(dict(v) if isinstance(v, Mapping) else v for v in asked)
        self._draft = kept = _for_task(draft, task.task_id)  # plug-ins have the other one
        self._plan = kept if plan == draft else _for_task(plan, task.task_id)


def _for_task(plan: ExecutionPlan, task_id: str) -> ExecutionPlan:
    """The same for another task; what a plug-in might change in place is its own."""
    verifier = plan.evaluation_environment
    return attrs.evolve(
        plan,
        task_id=task_id,
        environment=_own(plan.environment),
        evaluation_environment=None if verifier is None else _own(verifier),
    )


def _own(environment: EnvironmentPlan) -> EnvironmentPlan:
    return attrs.evolve(environment, env_variables=dict(environment.env_variables))
