"""From a task to the plan of its attempts, checked against what the providers can give."""

import logging

from agentcompass.engine.artifact_entries import artifact_entries
from agentcompass.engine.job import Job, Run
from agentcompass.engine.plan import check_plan, plan_of_task, with_recipes, with_wishes
from agentcompass.errors import EnvironmentFailed, TaskInvalid
from agentcompass.protocols import Benchmark
from agentcompass.records.environment import EnvironmentPlan
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.task import EvaluationMode, TaskSpec

log = logging.getLogger(__name__)

# A task has a Dockerfile for those who build; its files are laid out without it too.
_BUILD = frozenset({"build_context", "build_timeout_seconds"})


def plan_task(run: Run, task: TaskSpec) -> ExecutionPlan:
    """The plan; raises an `ExecutionError` for what only this task needs and cannot have."""
    if task.fault is not None:
        raise TaskInvalid(task.fault)
    job, memory = run.job, run.plans
    defaults = (job.benchmark.evaluation_mode, _harness_timeout(job))
    known = memory.draft(task, *defaults)
    draft = known or plan_of_task(job.request, task, *defaults)
    adjusted = with_recipes(draft, task, job.recipes)
    if adjusted is known:
        return memory.plan(known)
    plan = with_wishes(adjusted, job.request, task)
    _check(plan, run)
    if adjusted is draft:
        memory.keep(task, *defaults, draft=draft, plan=plan)
    return plan


def _check(plan: ExecutionPlan, run: Run) -> None:
    """Raise for what cannot be had, and note what the plan takes and does without."""
    job = run.job
    run.recipes.update(plan.applied_recipes)
    _check_known(plan, job)
    if plan.save_artifacts:
        artifact_entries(plan)  # raises where they cannot lie side by side
    if fault := mode_fault(job.benchmark, plan.evaluation_mode):
        raise TaskInvalid(f"task {plan.task_id!r}: {fault}")
    capabilities = {name: provider.capabilities for name, provider in job.environments.items()}
    _say_ignored(run, plan.environment.id, check_plan(plan, capabilities))


def mode_fault(benchmark: Benchmark, mode: EvaluationMode | None) -> str:
    """Why a benchmark cannot be scored in `mode`; an empty string where it can."""
    able = getattr(benchmark, "evaluation_modes", None)
    if able is None or mode is None or mode in able:
        return ""
    known = ", ".join(sorted(able))
    return f"benchmark {benchmark.id!r} cannot be scored in evaluation_mode {mode}; known: {known}"


def _say_ignored(run: Run, provider: str, fields: frozenset[str]) -> None:
    """Say once of each field that tasks describe and the provider does not give."""
    new = fields - run.said
    run.said.update(new)
    for level, names in ((logging.INFO, new & _BUILD), (logging.WARNING, new - _BUILD)):
        if names:
            log.log(level, "%s ignores what tasks say of: %s", provider, ", ".join(sorted(names)))


def bare_plan(job: Job, task: TaskSpec) -> ExecutionPlan:
    """What stands for the plan of a task that could not be planned."""
    return ExecutionPlan(
        task_id=task.task_id, environment=EnvironmentPlan(id=job.request.environment.id)
    )


def _harness_timeout(job: Job) -> float | None:
    return None if job.harness is None else job.harness.default_run_timeout_seconds


def _check_known(plan: ExecutionPlan, job: Job) -> None:
    for environment in filter(None, (plan.environment, plan.evaluation_environment)):
        if environment.id not in job.environments:
            raise EnvironmentFailed(
                f"the plan of task {plan.task_id!r} names environment {environment.id!r},"
                f" which this request has not; it has: {', '.join(job.environments)}"
            )
