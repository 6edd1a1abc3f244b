"""What recipes have in common: no parameters, and changes of parts of a plan's environment."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import attrs

from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.task import TaskSpec


@attrs.frozen(kw_only=True)
class NoParameters:
    """A recipe has none: what the user wants is said by `--env-params`."""


class BaseRecipe(ABC):
    """A recipe without parameters; a subclass brings `id`, `matches` and `apply`."""

    id: ClassVar[str]
    description: ClassVar[str] = ""
    Config: ClassVar[type[Any]] = NoParameters
    priority: ClassVar[int] = 0
    enabled_by_default: ClassVar[bool] = True

    def __init__(self, config: NoParameters) -> None:
        self.config = config

    @abstractmethod
    def matches(self, task: TaskSpec, plan: ExecutionPlan) -> bool:
        """Whether this recipe has something to say."""

    @abstractmethod
    def apply(self, task: TaskSpec, plan: ExecutionPlan) -> ExecutionPlan:
        """The adjusted plan, such as `attrs.evolve` makes: of the same task and components."""


class PairRecipe(BaseRecipe):
    """For some benchmarks on one provider; a subclass brings `apply`."""

    benchmarks: ClassVar[frozenset[str]]
    environment: ClassVar[str]

    def matches(self, task: TaskSpec, plan: ExecutionPlan) -> bool:
        """Whether the plan is for this pair."""
        return plan.benchmark in self.benchmarks and plan.environment.id == self.environment


def with_setup(plan: ExecutionPlan, **fields: Any) -> ExecutionPlan:
    """The plan with these fields of `environment.setup`."""
    setup = attrs.evolve(plan.environment.setup, **fields)
    return attrs.evolve(plan, environment=attrs.evolve(plan.environment, setup=setup))


def with_resources(plan: ExecutionPlan, **at_least: int) -> ExecutionPlan:
    """The plan with these resources where it says nothing of them."""
    asked = plan.environment.resources
    missing: dict[str, Any] = {
        name: value for name, value in at_least.items() if getattr(asked, name) is None
    }
    resources = attrs.evolve(asked, **missing)
    return attrs.evolve(plan, environment=attrs.evolve(plan.environment, resources=resources))


def with_variables(plan: ExecutionPlan, **variables: str) -> ExecutionPlan:
    """The plan with these variables, unless the task sets them."""
    both = {**variables, **plan.environment.env_variables}
    return attrs.evolve(plan, environment=attrs.evolve(plan.environment, env_variables=both))
