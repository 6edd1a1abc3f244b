"""A plan that is remembered is the one that would have been made."""

from collections.abc import Sequence
from typing import Any

import attrs
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.deadlines import CleanupClock
from agentcompass.engine.job import Run
from agentcompass.engine.plan_record import PlanRecords, plan_record
from agentcompass.engine.planning import plan_task
from agentcompass.errors import EnvironmentFailed, TaskInvalid
from agentcompass.protocols import Capabilities, Recipe
from agentcompass.records.environment import EnvironmentSetup, NetworkPolicy, Resources
from agentcompass.records.metrics import binary_contract
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.run_info import MetricBasis, declared
from agentcompass.records.task import ArtifactSpec, CollectCommand, TaskSpec
from tests.engine.plans import resolve_plan
from tests.fakes import MemoryStore, ScriptedEnvironment, World, make_job

BASIS = MetricBasis(
    metrics=declared(binary_contract()), aggregation_mode="micro_weighted", category_hierarchy=None
)
ABLE = Capabilities(
    network_modes=frozenset({"public", "no-network"}),
    gives=frozenset({"image", "cpu"}),
    switches_network=True,
)
OFFLINE = NetworkPolicy(network_mode="no-network")
OTHER = EnvironmentSetup(image="other")

# What a task may say that the one before did not.
SAYINGS: dict[str, Any] = {
    "metadata": {"twice": True},
    "setup": EnvironmentSetup(image="a"),
    "evaluation_setup": EnvironmentSetup(image="b"),
    "resources": Resources(cpu=1),
    "evaluation_resources": Resources(cpu=2),
    "network_policy": OFFLINE,
    "run_network_policy": OFFLINE,
    "verifier_network_policy": OFFLINE,
    "evaluation_mode": "fresh",
    "env_variables": {"A": "1"},
    "evaluation_env_variables": {"A": "verifier"},
    "artifacts": (ArtifactSpec(source="/app/x"),),
    "artifact_collect": (CollectCommand(command="true"),),
    "run_timeout_seconds": 1.0,
    "evaluation_timeout_seconds": 3.0,
    "fault": "a broken row",
}


@attrs.frozen
class TwiceRecipe:
    """Gives some tasks more time, by what only they say."""

    id = "twice"
    description = "twice the time"
    Config = object
    priority = 0
    enabled_by_default = True

    def matches(self, task: TaskSpec, plan: ExecutionPlan) -> bool:
        assert plan.task_id == task.task_id
        return bool(task.metadata.get("twice"))

    def apply(self, task: TaskSpec, plan: ExecutionPlan) -> ExecutionPlan:
        return attrs.evolve(plan, run_timeout_seconds=2 * (plan.run_timeout_seconds or 1.0))


def a_run(recipes: Sequence[Recipe] = (), **execution: Any) -> Run:
    """On a provider that can do some of what tasks ask for."""
    world = World({})
    providers = [ScriptedEnvironment(world, "P", capabilities=ABLE)]
    job = make_job(world, MemoryStore(), providers=providers, **execution)
    job = attrs.evolve(job, recipes=recipes)
    return Run(job=job, store=MemoryStore(), cleanup=CleanupClock(1.0), basis=BASIS)


def planned(run: Run, task: TaskSpec) -> ExecutionPlan | str:
    try:
        return plan_task(run, task)
    except (EnvironmentFailed, TaskInvalid) as error:
        return str(error)


@given(
    st.sampled_from(["none", "fresh"]),
    st.lists(st.sampled_from(sorted(SAYINGS)), max_size=6),
    st.sampled_from([None, 2.0]),
)
async def test_whatever_tasks_ask_for_each_has_the_plan_it_would_have_alone(
    mode: str, changes: list[str], multiplier: float | None
) -> None:
    """Fails when PlanMemory leaves out a field that plans are made from, such as `artifacts`."""
    recipes = (TwiceRecipe(),)
    run = a_run(recipes, timeout_multiplier=multiplier)
    fields: dict[str, Any] = {"evaluation_mode": mode}
    for number, name in enumerate(each for change in [None, *changes] for each in (change, None)):
        if name in fields:
            del fields[name]
        elif name is not None:
            fields[name] = SAYINGS[name]
        task = TaskSpec(task_id=f"t{number}", **fields)

        assert planned(run, task) == planned(a_run(recipes, timeout_multiplier=multiplier), task)


async def test_tasks_that_ask_for_the_same_have_one_draft() -> None:
    run, task = a_run(), TaskSpec(task_id="a", instruction="x")
    plan = plan_task(run, task)
    alike = run.plans.draft(attrs.evolve(task, task_id="b", instruction="y"), "none", None)
    other = run.plans.draft(attrs.evolve(task, setup=OTHER), "none", None)

    assert alike == attrs.evolve(plan, task_id="b")
    assert other is None
    assert run.plans.draft(task, "reuse", None) is None


async def test_what_is_changed_in_one_plan_is_not_changed_in_the_next() -> None:
    run = a_run()
    first = plan_task(run, TaskSpec(task_id="a", evaluation_mode="fresh"))
    assert first.evaluation_environment is not None
    for environment in (first.environment, first.evaluation_environment):
        environment.env_variables["A"] = "changed"  # type: ignore[index]  # as a plug-in might
    second = plan_task(run, TaskSpec(task_id="b", evaluation_mode="fresh"))

    assert second.evaluation_environment is not None
    assert second.environment.env_variables == second.evaluation_environment.env_variables == {}


async def test_variables_that_are_changed_in_place_are_seen() -> None:
    run, variables = a_run(), {"A": "1"}
    plan_task(run, TaskSpec(task_id="a", env_variables=variables))
    variables["A"] = "2"

    plan = plan_task(run, TaskSpec(task_id="b", env_variables=variables))
    assert plan.environment.env_variables == {"A": "2"}


async def test_plans_that_say_the_same_have_the_very_same_record() -> None:
    run = a_run()
    tasks = [TaskSpec(task_id="a"), TaskSpec(task_id="b"), TaskSpec(task_id="c", setup=OTHER)]
    plans = [
        resolve_plan(
            run.job.request, task, evaluation_mode="none", default_run_timeout_seconds=None
        )
        for task in tasks
    ]
    records = PlanRecords()
    first, second, third = map(records.of, plans)

    assert first is second
    assert [first, third] == [plan_record(plans[0]), plan_record(plans[2])]
    assert first != third
