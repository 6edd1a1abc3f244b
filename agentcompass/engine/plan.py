"""What one attempt will use: the user's wish over recipes, over the task, over defaults. Pure.

A plan is made in this order: `plan_of_task`, `with_recipes`, `with_wishes`.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TypeVar

import attrs

from agentcompass.engine.recipes import apply_recipe
from agentcompass.errors import EnvironmentFailed, TaskInvalid
from agentcompass.protocols import Capabilities, Recipe
from agentcompass.records.environment import (
    EnvironmentPlan,
    EnvironmentSetup,
    NetworkPolicy,
    Resources,
)
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.request import EnvironmentSpec, ExecutionOptions, RunRequest
from agentcompass.records.task import EvaluationMode, TaskSpec

T = TypeVar("T", EnvironmentSetup, Resources)

PUBLIC = NetworkPolicy()

# What the user's options and a plan both have.
_EXECUTION = (
    *("run_timeout_seconds", "evaluation_timeout_seconds", "run_timer_compensation_seconds"),
    *("runresult_collect_timeout_seconds", "artifact_collect_timeout_seconds"),
    *("artifact_limits", "artifacts", "artifact_collect"),
)
_DEFAULTS = attrs.fields_dict(ExecutionOptions)


def with_recipes(plan: ExecutionPlan, task: TaskSpec, recipes: Sequence[Recipe]) -> ExecutionPlan:
    """The plan as the recipes adjust it; the very same where none matches."""
    for recipe in recipes:
        plan = apply_recipe(recipe, task, plan)
    return plan


def plan_of_task(
    request: RunRequest,
    task: TaskSpec,
    evaluation_mode: EvaluationMode,
    default_run_timeout_seconds: float | None,
) -> ExecutionPlan:
    """What the task asks for, over the defaults; recipes are shown this."""
    policy = task.network_policy or PUBLIC
    environment = EnvironmentPlan(
        id=request.environment.id,
        network_policy=policy,
        setup=task.setup,
        resources=task.resources,
        env_variables=task.env_variables,
    )
    return ExecutionPlan(
        task_id=task.task_id,
        benchmark=request.benchmark.id,
        harness=request.harness.id,
        environment=environment,
        evaluation_mode=task.evaluation_mode or evaluation_mode,
        run_network_policy=task.run_network_policy or policy,
        verifier_network_policy=task.verifier_network_policy or policy,
        run_timeout_seconds=_first(task.run_timeout_seconds, default_run_timeout_seconds),
        evaluation_timeout_seconds=task.evaluation_timeout_seconds,
        artifacts=task.artifacts,
        artifact_collect=task.artifact_collect,
    )


def _saves_artifacts(
    execution: ExecutionOptions, mode: EvaluationMode, plan: ExecutionPlan
) -> bool:
    if execution.save_artifacts is None:
        return mode == "fresh" or bool(plan.artifacts or plan.artifact_collect)
    if mode == "fresh" and not execution.save_artifacts:
        raise EnvironmentFailed(
            "execution.save_artifacts is false, but a fresh verifier is given the saved artifacts"
        )
    return execution.save_artifacts


def with_wishes(plan: ExecutionPlan, request: RunRequest, task: TaskSpec) -> ExecutionPlan:
    """The plan with what the user asks for, which wins; multipliers are applied."""
    wish, execution = request.environment, request.execution
    plan = _with_execution(plan, execution)
    mode = wish.evaluation_mode or plan.evaluation_mode
    environment = attrs.evolve(
        plan.environment,
        setup=_overlay(plan.environment.setup, wish.setup),
        resources=_overlay(plan.environment.resources, wish.resources),
        network_policy=wish.network_policy or plan.environment.network_policy,
        env_variables={**plan.environment.env_variables, **wish.env_variables},
    )
    verifier_policy = (
        wish.verifier_network_policy or wish.network_policy or plan.verifier_network_policy
    )
    return attrs.evolve(
        plan,
        environment=environment,
        evaluation_mode=mode,
        run_network_policy=(
            wish.run_network_policy or wish.network_policy or plan.run_network_policy
        ),
        verifier_network_policy=verifier_policy,
        evaluation_environment=_verifier(plan, environment, wish, task)
        if mode == "fresh"
        else None,
        save_artifacts=_saves_artifacts(execution, mode, plan),
    )


def _with_execution(plan: ExecutionPlan, execution: ExecutionOptions) -> ExecutionPlan:
    """The plan with the options that the user set; a default leaves it to recipe and task."""
    wished = {
        name: value
        for name in _EXECUTION
        if (value := getattr(execution, name)) != _DEFAULTS[name].default
    }
    plan = attrs.evolve(plan, **wished)
    both = execution.timeout_multiplier
    return attrs.evolve(
        plan,
        run_timeout_seconds=_scaled(
            plan.run_timeout_seconds, _first(execution.run_timeout_multiplier, both)
        ),
        evaluation_timeout_seconds=_scaled(
            plan.evaluation_timeout_seconds, _first(execution.evaluation_timeout_multiplier, both)
        ),
    )


def _verifier(
    plan: ExecutionPlan, environment: EnvironmentPlan, wish: EnvironmentSpec, task: TaskSpec
) -> EnvironmentPlan:
    base = plan.evaluation_environment
    if base is None:  # no recipe said anything of it
        base = _verifier_of_task(environment, wish, task)
    return attrs.evolve(
        base,
        setup=_overlay(base.setup, wish.evaluation_setup),
        resources=_overlay(base.resources, wish.evaluation_resources),
        network_policy=wish.network_policy or base.network_policy,
    )


def _verifier_of_task(
    environment: EnvironmentPlan, wish: EnvironmentSpec, task: TaskSpec
) -> EnvironmentPlan:
    own, setup = task.evaluation_setup, _overlay(environment.setup, task.evaluation_setup)
    if own is not None and (own.image or own.build_context):
        setup = own  # what holds for the agent's image says nothing of another one
    variables = environment.env_variables
    if task.evaluation_env_variables is not None:
        variables = {**task.evaluation_env_variables, **wish.env_variables}
    return attrs.evolve(
        environment,
        setup=setup,
        resources=task.evaluation_resources or environment.resources,
        env_variables=variables,
    )


def _overlay(base: T, wish: T | None) -> T:
    """`base` with every field that `wish` sets."""
    if wish is None:
        return base
    chosen = attrs.asdict(wish, recurse=False, filter=lambda _, value: value is not None)
    return attrs.evolve(base, **chosen)


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


def _scaled(seconds: float | None, factor: float | None) -> float | None:
    if seconds is None:
        return None
    scaled = seconds * (1.0 if factor is None else factor)
    if not math.isfinite(scaled):
        raise TaskInvalid(f"a timeout of {seconds:g} s times {factor:g} is beyond all numbers")
    return scaled


def asked_for(environment: EnvironmentPlan) -> frozenset[str]:
    """The names of the setup and resource fields that a plan sets."""
    sections = (environment.setup, environment.resources)
    return frozenset(
        field.name
        for section in sections
        for field in attrs.fields(type(section))
        if getattr(section, field.name) is not None
    )


def check_plan(plan: ExecutionPlan, capabilities: Mapping[str, Capabilities]) -> frozenset[str]:
    """What the providers will ignore; `EnvironmentFailed` for what they must give and cannot."""
    ignored: frozenset[str] = frozenset()
    for environment in filter(None, (plan.environment, plan.evaluation_environment)):
        able = capabilities[environment.id]
        asked = asked_for(environment) - able.gives
        if missing := asked - able.ignores:
            raise EnvironmentFailed(
                f"environment {environment.id!r} cannot give {', '.join(sorted(missing))}"
                f" to task {plan.task_id!r}; choose an environment that can"
            )
        ignored |= asked
    _check_policies(plan, capabilities)
    return ignored


def _check_policies(plan: ExecutionPlan, capabilities: Mapping[str, Capabilities]) -> None:
    able = capabilities[plan.environment.id]
    during_run = (plan.environment.network_policy, plan.run_network_policy)
    verifier = plan.evaluation_environment or plan.environment
    scoring = () if plan.evaluation_mode == "none" else (plan.verifier_network_policy,)
    for policies, provider in ((during_run, able), (scoring, capabilities[verifier.id])):
        for policy in policies:
            if policy.network_mode not in provider.network_modes:
                raise EnvironmentFailed(
                    f"network mode {policy.network_mode!r} cannot be enforced for task"
                    f" {plan.task_id!r}; known: {', '.join(sorted(provider.network_modes))}"
                )
            patterns = [host for host in policy.allowed_hosts if host.startswith("*")]
            if patterns and not provider.host_patterns:
                raise EnvironmentFailed(
                    f"{patterns[0]} cannot be enforced for task {plan.task_id!r}: name each host"
                )
    if len(set(during_run)) > 1 and not able.switches_network:
        raise EnvironmentFailed(
            f"environment {plan.environment.id!r} cannot switch the network policy"
            f" between phases of task {plan.task_id!r}"
        )
