"""What the user sets wins over a recipe, a recipe over the task, the task over the default."""

from typing import Any

import attrs
import pytest

from agentcompass.engine.plan import check_plan
from agentcompass.engine.plan_record import plan_record
from agentcompass.errors import EnvironmentFailed, TaskInvalid
from agentcompass.protocols import Capabilities
from agentcompass.records.environment import (
    EnvironmentPlan,
    EnvironmentSetup,
    NetworkMode,
    NetworkPolicy,
    Resources,
)
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.request import (
    ComponentSpec,
    EnvironmentSpec,
    ExecutionOptions,
    ModelSpec,
    RunRequest,
)
from agentcompass.records.task import ArtifactSpec, EvaluationMode, TaskSpec
from tests.engine.plans import resolve_plan

TASK = TaskSpec(
    task_id="t",
    setup=EnvironmentSetup(image="task-image", workdir="/task"),
    resources=Resources(cpu=2),
    env_variables={"A": "task", "B": "task"},
    run_timeout_seconds=100.0,
    evaluation_timeout_seconds=50.0,
)
OFFLINE = NetworkPolicy(network_mode="no-network")


def request(environment: EnvironmentSpec | None = None, **execution: Any) -> RunRequest:
    return RunRequest(
        benchmark=ComponentSpec(id="b"),
        harness=ComponentSpec(id="h"),
        model=ModelSpec(id="m"),
        environment=environment or EnvironmentSpec(id="docker"),
        execution=ExecutionOptions(**execution),
    )


def planned(
    asked: RunRequest, task: TaskSpec = TASK, mode: EvaluationMode = "reuse", **options: Any
) -> ExecutionPlan:
    return resolve_plan(
        asked, task, evaluation_mode=mode, **{"default_run_timeout_seconds": None, **options}
    )


@attrs.frozen
class ImageRecipe:
    id = "image"
    description = "sets the image"
    Config = object
    priority = 0
    enabled_by_default = True

    def matches(self, task: TaskSpec, plan: ExecutionPlan) -> bool:
        return plan.environment.id == "docker"

    def apply(self, task: TaskSpec, plan: ExecutionPlan) -> ExecutionPlan:
        setup = attrs.evolve(plan.environment.setup, image="recipe-image")
        return attrs.evolve(plan, environment=attrs.evolve(plan.environment, setup=setup))


def test_the_task_wins_over_the_default() -> None:
    plan = planned(request(), default_run_timeout_seconds=7.0)

    assert plan.environment.setup.image == "task-image"
    assert plan.run_timeout_seconds == 100.0


def test_a_recipe_wins_over_the_task_and_is_on_record() -> None:
    plan = planned(request(), recipes=[ImageRecipe()])

    assert plan.environment.setup == EnvironmentSetup(image="recipe-image", workdir="/task")
    assert plan.applied_recipes == ("image",)


def test_the_user_wins_over_a_recipe_field_by_field() -> None:
    wish = EnvironmentSpec(
        id="docker", setup=EnvironmentSetup(image="mine"), env_variables={"B": "mine"}
    )
    plan = planned(request(wish), recipes=[ImageRecipe()])

    assert plan.environment.setup == EnvironmentSetup(image="mine", workdir="/task")
    assert plan.environment.env_variables == {"A": "task", "B": "mine"}


def test_a_recipe_that_does_not_match_is_not_applied() -> None:
    plan = planned(request(EnvironmentSpec(id="modal")), recipes=[ImageRecipe()])

    assert plan.applied_recipes == ()


def test_multipliers_scale_what_is_left_in_the_end() -> None:
    plan = planned(
        request(run_timeout_seconds=10.0, timeout_multiplier=3.0, evaluation_timeout_multiplier=2.0)
    )

    assert (plan.run_timeout_seconds, plan.evaluation_timeout_seconds) == (30.0, 100.0)


def test_no_deadline_stays_none() -> None:
    plan = planned(request(timeout_multiplier=3.0), TaskSpec(task_id="t"))

    assert plan.run_timeout_seconds is None


def test_a_fresh_verifier_has_a_plan_of_its_own() -> None:
    wish = EnvironmentSpec(id="docker", evaluation_setup=EnvironmentSetup(image="clean"))
    plan = planned(request(wish), mode="fresh")

    assert plan.evaluation_environment is not None
    assert plan.evaluation_environment.setup.image == "clean"
    assert plan.environment.setup.image == "task-image"
    assert plan.save_artifacts


def test_a_verifier_with_an_image_of_its_own_has_nothing_of_the_agents_setup() -> None:
    task = attrs.evolve(
        TASK,
        setup=EnvironmentSetup(build_context="/agent", workdir="/app"),
        evaluation_setup=EnvironmentSetup(image="apart"),
        evaluation_resources=Resources(cpu=2),
        evaluation_env_variables={"A": "verifier", "B": "verifier"},
    )
    wish = EnvironmentSpec(id="docker", env_variables={"B": "user"})
    own = planned(request(wish), task, mode="fresh").evaluation_environment

    assert own is not None
    assert own.setup == EnvironmentSetup(image="apart")
    assert own.resources == Resources(cpu=2)
    assert own.env_variables == {"A": "verifier", "B": "user"}


def test_a_verifier_that_only_works_elsewhere_has_the_rest_of_the_agents_setup() -> None:
    task = attrs.evolve(TASK, evaluation_setup=EnvironmentSetup(workdir="/v"))
    own = planned(request(), task, mode="fresh").evaluation_environment

    assert own is not None
    assert (own.setup.image, own.setup.workdir) == (TASK.setup.image, "/v")
    assert own.resources == TASK.resources


def test_the_wish_for_a_mode_wins() -> None:
    plan = planned(request(EnvironmentSpec(id="docker", evaluation_mode="fresh")), mode="none")

    assert plan.evaluation_mode == "fresh"
    assert plan.evaluation_environment is not None


def test_a_fresh_verifier_without_saved_artifacts_is_refused() -> None:
    with pytest.raises(EnvironmentFailed, match="save_artifacts"):
        planned(request(save_artifacts=False), mode="fresh")


def test_declared_artifacts_are_saved_in_any_mode() -> None:
    task = attrs.evolve(TASK, artifacts=(ArtifactSpec(source="/app/out"),))

    assert planned(request(), task).save_artifacts
    assert not planned(request()).save_artifacts


def test_what_a_provider_ignores_is_told_and_what_it_lacks_is_fatal() -> None:
    plan = planned(request(EnvironmentSpec(id="host")))
    able = Capabilities(ignores=frozenset({"image", "workdir", "cpu"}))

    assert check_plan(plan, {"host": able}) == {"image", "workdir", "cpu"}
    with pytest.raises(EnvironmentFailed, match="cannot give cpu"):
        check_plan(plan, {"host": Capabilities(ignores=frozenset({"image", "workdir"}))})


@pytest.mark.parametrize("phase", ["network_policy", "run_network_policy"])
def test_a_policy_that_cannot_be_enforced_is_fatal(phase: str) -> None:
    task = TaskSpec(task_id="t", **{phase: OFFLINE})
    plan = planned(request(EnvironmentSpec(id="host")), task)

    with pytest.raises(EnvironmentFailed, match="no-network"):
        check_plan(plan, {"host": Capabilities()})


def test_a_switch_of_policies_needs_a_provider_that_switches() -> None:
    task = TaskSpec(task_id="t", run_network_policy=OFFLINE)
    plan = planned(request(EnvironmentSpec(id="docker")), task)
    both = frozenset({"public", "no-network"})

    check_plan(plan, {"docker": Capabilities(network_modes=both, switches_network=True)})
    with pytest.raises(EnvironmentFailed, match="cannot switch"):
        check_plan(plan, {"docker": Capabilities(network_modes=both)})


def test_scoring_without_an_environment_needs_no_policy() -> None:
    task = TaskSpec(task_id="t", verifier_network_policy=OFFLINE)
    plan = planned(request(EnvironmentSpec(id="host")), task, "none")

    assert check_plan(plan, {"host": Capabilities()}) == frozenset()


def test_the_record_names_policies_as_the_seeds_do() -> None:
    record = plan_record(planned(request(), mode="fresh"))

    assert record["environment"]["network_policy"] == {
        "network_mode": "public",
        "allowed_hosts": [],
    }
    assert {"run_network_policy", "verifier_network_policy", "applied_recipes"} <= set(record)
    assert record["evaluation_environment"]["id"] == "docker"


def test_a_tasks_timeout_beyond_all_numbers_is_that_tasks_fault() -> None:
    with pytest.raises(TaskInvalid, match="beyond all numbers"):
        planned(request(timeout_multiplier=1e308))


@pytest.mark.parametrize("stretch", ["run", "evaluation"])
def test_a_product_that_is_not_finite_is_refused_with_the_options(stretch: str) -> None:
    with pytest.raises(ValueError, match=f"{stretch}_timeout_seconds"):
        ExecutionOptions(**{f"{stretch}_timeout_seconds": 1e308, "timeout_multiplier": 1e308})


def test_a_host_pattern_needs_a_provider_that_can_tell_hosts_apart():
    """Before the task runs, the verifier's policy too."""
    policy = NetworkPolicy(network_mode="allowlist", allowed_hosts=("*.example.org",))
    plan = ExecutionPlan(
        task_id="t",
        environment=EnvironmentPlan(id="docker"),
        evaluation_mode="reuse",
        verifier_network_policy=policy,
    )
    modes = frozenset[NetworkMode]({"public", "allowlist"})

    check_plan(plan, {"docker": Capabilities(network_modes=modes)})
    with pytest.raises(EnvironmentFailed, match=r"\*\.example\.org cannot be enforced"):
        check_plan(plan, {"docker": Capabilities(network_modes=modes, host_patterns=False)})
