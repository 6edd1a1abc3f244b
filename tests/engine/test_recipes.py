"""A recipe over a plan: what it may change, and that its bugs cost one task one clear issue."""

from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from agentcompass.engine.recipes import apply_recipe
from agentcompass.engine.tree import run_job
from agentcompass.errors import TaskInvalid
from agentcompass.records.environment import EnvironmentPlan, EnvironmentSetup, NetworkPolicy
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.request import (
    ComponentSpec,
    EnvironmentSpec,
    ExecutionOptions,
    ModelSpec,
    RunRequest,
)
from agentcompass.records.task import ArtifactSpec, TaskSpec
from tests.engine.plans import resolve_plan
from tests.fakes import MemoryStore, Scripted, World, make_job

TASK = TaskSpec(task_id="t", run_timeout_seconds=100.0, evaluation_timeout_seconds=50.0)
Change = Callable[[ExecutionPlan], ExecutionPlan]


@attrs.frozen
class Changing:
    """A recipe that does `change`, to tasks of `only` where that is given."""

    change: Change
    id: str = "changing"
    only: str = ""
    description = "d"
    Config = object
    priority = 0
    enabled_by_default = True

    def matches(self, task: TaskSpec, plan: ExecutionPlan) -> bool:
        return self.only in ("", task.task_id)

    def apply(self, task: TaskSpec, plan: ExecutionPlan) -> ExecutionPlan:
        return self.change(plan)


def planned(*changes: Change, environment: EnvironmentSpec | None = None, **execution):
    request = RunRequest(
        benchmark=ComponentSpec(id="b"),
        harness=ComponentSpec(id="h"),
        model=ModelSpec(id="m"),
        environment=environment or EnvironmentSpec(id="docker"),
        execution=ExecutionOptions(**execution),
    )
    recipes = [Changing(change, id=f"r{number}") for number, change in enumerate(changes)]
    return resolve_plan(
        request, TASK, evaluation_mode="reuse", default_run_timeout_seconds=None, recipes=recipes
    )


def setting(**fields) -> Change:
    return lambda plan: attrs.evolve(plan, **fields)


def test_a_recipe_knows_what_the_plan_is_for():
    seen = []
    planned(lambda plan: seen.append((plan.benchmark, plan.harness, plan.task_id)) or plan)

    assert seen == [("b", "h", "t")]


def test_multipliers_are_applied_after_the_recipes():
    plan = planned(setting(run_timeout_seconds=200.0), timeout_multiplier=2.0)

    assert plan.run_timeout_seconds == 400.0
    assert plan.evaluation_timeout_seconds == 100.0


def test_the_last_recipe_has_the_last_word_and_all_are_on_record():
    plan = planned(setting(run_timeout_seconds=1.0), setting(run_timeout_seconds=2.0))

    assert plan.run_timeout_seconds == 2.0
    assert plan.applied_recipes == ("r0", "r1")


@pytest.mark.parametrize(
    ("field", "recipe", "user"),
    [
        ("run_timeout_seconds", 5.0, 6.0),
        ("evaluation_timeout_seconds", 5.0, 6.0),
        ("run_timer_compensation_seconds", 5.0, 6.0),
        ("runresult_collect_timeout_seconds", 5.0, 6.0),
        ("artifact_collect_timeout_seconds", 5.0, 6.0),
        ("artifacts", (ArtifactSpec(source="/r"),), (ArtifactSpec(source="/u"),)),
    ],
)
def test_the_users_options_win_over_a_recipe_and_defaults_do_not(field, recipe, user):
    assert getattr(planned(setting(**{field: recipe})), field) == recipe
    assert getattr(planned(setting(**{field: recipe}), **{field: user}), field) == user


def test_the_users_environment_wins_over_a_recipe():
    def change(plan):
        environment = EnvironmentPlan(
            id="docker",
            setup=EnvironmentSetup(image="recipe", workdir="/recipe"),
            network_policy=NetworkPolicy(network_mode="no-network"),
            env_variables={"A": "recipe", "B": "recipe"},
        )
        return attrs.evolve(plan, environment=environment)

    wish = EnvironmentSpec(
        id="docker", setup=EnvironmentSetup(image="user"), env_variables={"A": "user"}
    )
    plan = planned(change, environment=wish)

    assert plan.environment.setup == EnvironmentSetup(image="user", workdir="/recipe")
    assert plan.environment.env_variables == {"A": "user", "B": "recipe"}
    assert plan.environment.network_policy.network_mode == "no-network"


def test_a_recipe_wins_over_the_tasks_verifier():
    task = attrs.evolve(TASK, evaluation_setup=EnvironmentSetup(image="task"))
    mine = EnvironmentPlan(id="docker", setup=EnvironmentSetup(image="recipe"))
    request = RunRequest(
        benchmark=ComponentSpec(id="b"),
        harness=ComponentSpec(id="h"),
        model=ModelSpec(id="m"),
        environment=EnvironmentSpec(id="docker"),
    )

    def image(*recipes):
        plan = resolve_plan(
            request,
            task,
            evaluation_mode="fresh",
            default_run_timeout_seconds=None,
            recipes=recipes,
        )
        return plan.evaluation_environment.setup.image

    assert image() == "task"
    assert image(Changing(setting(evaluation_environment=mine))) == "recipe"


def _bug(plan):
    raise KeyError("image")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_bug, "recipe 'changing': apply: KeyError: 'image'"),
        (lambda plan: None, "recipe 'changing': apply: returned NoneType, not an ExecutionPlan"),
        (setting(task_id="other"), "changed task_id, which is not a recipe's to change"),
        (setting(applied_recipes=("x",)), "changed applied_recipes"),
        (setting(run_timeout_seconds="60"), "plan.run_timeout_seconds: expected a number"),
        (setting(run_timeout_seconds=-5.0), "run_timeout_seconds must be a finite number above 0"),
        (setting(evaluation_timeout_seconds=0.0), "evaluation_timeout_seconds must be"),
        (setting(runresult_collect_timeout_seconds=0.0), "runresult_collect_timeout_seconds must"),
        (setting(run_timer_compensation_seconds=-1.0), "run_timer_compensation_seconds must be"),
        (
            setting(environment=None),
            "apply: AttributeError: 'NoneType' object has no attribute 'id'",
        ),
    ],
)
def test_a_bug_is_one_line_that_names_the_recipe(change, said):
    plan = ExecutionPlan(task_id="t", environment=EnvironmentPlan(id="docker"))

    with pytest.raises(TaskInvalid) as caught:
        apply_recipe(Changing(change), TASK, plan)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.code == "recipe_failed"


def test_what_a_recipe_changes_in_place_is_of_its_own_plan_alone():
    """cases.md 75."""
    task = attrs.evolve(TASK, metadata={"name": "task", "list": []})
    variables = {"A": "given"}
    plan = ExecutionPlan(
        task_id="t", environment=EnvironmentPlan(id="docker", env_variables=variables)
    )

    class Careless(Changing):
        def apply(self, task, plan):
            task.metadata["list"].append("recipe")
            plan.environment.env_variables["A"] = "recipe"
            return plan

    changed = apply_recipe(Careless(setting()), task, plan)

    assert changed.environment.env_variables == {"A": "recipe"}
    assert variables == {"A": "given"}
    assert task.metadata == {"name": "task", "list": []}


async def test_a_bug_costs_its_task_alone(autojump_clock):
    world = World({name: Scripted(task_id=name) for name in ("good", "bad")})
    store = MemoryStore(directory=Path("/memory/run"))
    job = make_job(world, store)
    job = attrs.evolve(job, recipes=(*job.recipes, Changing(_bug, only="bad")))
    outcome = await run_job(job)

    (issue,) = store.attempts["bad", 1].issues
    assert (issue.severity, issue.code) == ("fatal", "recipe_failed")
    assert issue.message == (
        "TaskInvalid: recipe 'changing': apply: KeyError: 'image' <- KeyError: 'image'"
    )
    assert store.attempts["good", 1].issues == ()
    assert outcome.applied_recipes == ("route",)
