"""Recipes as another package brings them; `--recipe-dir` takes this very folder as well."""

import attrs

from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.task import TaskSpec


@attrs.frozen(kw_only=True)
class NoParameters:
    """A recipe has none: what the user wants is said by `--env-params`."""


class WordCountOnHost:
    """Counts as in English text, and quickly: a minute is enough."""

    id = "word_count_host"
    description = "word_count on host_process: the locale C.UTF-8, and a minute for the agent."
    Config = NoParameters
    priority = 0
    enabled_by_default = True

    def __init__(self, config: NoParameters) -> None:
        self.config = config

    def matches(self, task: TaskSpec, plan: ExecutionPlan) -> bool:
        """Whether the plan is for this pair."""
        return plan.benchmark == "word_count" and plan.environment.id == "host_process"

    def apply(self, task: TaskSpec, plan: ExecutionPlan) -> ExecutionPlan:
        """A plan is a frozen record: `attrs.evolve` makes the adjusted one."""
        variables = {"LC_ALL": "C.UTF-8", **plan.environment.env_variables}
        environment = attrs.evolve(plan.environment, env_variables=variables)
        return attrs.evolve(plan, environment=environment, run_timeout_seconds=60.0)


class WordCountSlow(WordCountOnHost):
    """An hour instead, for slow models: only with `--recipe word_count_slow`."""

    id = "word_count_slow"
    description = "word_count on host_process: an hour for the agent; not default."
    priority = 10  # after the other one, so that this one's timeout stays
    enabled_by_default = False

    def apply(self, task: TaskSpec, plan: ExecutionPlan) -> ExecutionPlan:
        """The plan with an hour."""
        return attrs.evolve(super().apply(task, plan), run_timeout_seconds=3600.0)


# What `--recipe-dir` looks for.
RECIPE_CLASSES = [WordCountOnHost, WordCountSlow]
