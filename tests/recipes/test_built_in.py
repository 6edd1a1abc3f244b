"""The recipes that ship: for which pairs they are, and what they make of a plan."""

import attrs
import pytest

from agentcompass.config.components import component_class
from agentcompass.records.environment import EnvironmentPlan, EnvironmentSetup, Resources
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.task import TaskSpec
from agentcompass.registry import known

BUILT = EnvironmentSetup(build_context="/t/environment", build_timeout_seconds=900.0)
TASK = TaskSpec(task_id="t", setup=attrs.evolve(BUILT, image="org/t:1"))
PUBLIC = "swebench/sweb.eval.x86_64.django_1776_django-1:latest"


def recipe(name):
    component = component_class("recipe", name)
    return component(component.Config())


def plan(benchmark, environment, setup=TASK.setup, **fields):
    return ExecutionPlan(
        task_id="t",
        benchmark=benchmark,
        environment=EnvironmentPlan(id=environment, setup=setup, **fields),
    )


@pytest.mark.parametrize("name", [name for name in known("recipe") if "terminal" in name])
@pytest.mark.parametrize("benchmark", ["_2", "_2_verified", "_2_1"])
def test_the_recipes_of_terminal_bench_are_for_its_family_on_their_provider(name, benchmark):
    found = recipe(name)

    assert found.matches(TASK, plan(f"terminal_bench{benchmark}", found.environment))
    assert not found.matches(TASK, plan(f"terminal_bench{benchmark}", "host_process"))
    assert not found.matches(TASK, plan("swebench_verified", found.environment))


def test_terminal_bench_starts_the_published_image():
    setup = recipe("terminal_bench_2_docker").apply(TASK, plan("terminal_bench_2", "docker"))

    assert setup.environment.setup == EnvironmentSetup(image="org/t:1")


def test_a_task_without_an_image_is_built():
    assert not recipe("terminal_bench_2_docker").matches(
        TASK, plan("terminal_bench_2", "docker", setup=BUILT)
    )


def test_the_dockerfile_is_built_instead_where_that_is_asked_for():
    image, build = recipe("terminal_bench_2_docker"), recipe("terminal_bench_2_docker_build")
    adjusted = build.apply(TASK, image.apply(TASK, plan("terminal_bench_2", "docker")))

    assert adjusted.environment.setup == BUILT
    assert build.priority > image.priority
    assert not build.enabled_by_default


@pytest.mark.parametrize("provider", ["daytona", "modal"])
def test_sandboxes_elsewhere_get_a_working_directory_and_what_is_not_said_of_the_machine(provider):
    found = recipe(f"terminal_bench_2_{provider}")
    given = plan("terminal_bench_2", provider, resources=Resources(cpu=4))
    adjusted = found.apply(TASK, given).environment

    assert adjusted.setup == EnvironmentSetup(image="org/t:1", workdir="/app")
    assert (adjusted.resources.cpu, adjusted.resources.memory_mb) == (4, 2048)


@pytest.mark.parametrize("provider", ["docker", "daytona", "modal"])
def test_swebench_works_in_the_repository_of_its_public_images(provider):
    found = recipe(f"swebench_verified_{provider}")
    given = plan(
        "swebench_verified",
        provider,
        setup=EnvironmentSetup(image=PUBLIC),
        env_variables={"BASH_ENV": "/mine"} if provider == "modal" else {},
    )

    assert found.matches(TASK, given)
    adjusted = found.apply(TASK, given).environment
    assert adjusted.setup == EnvironmentSetup(image=PUBLIC, workdir="/testbed")
    wanted = "/mine" if provider == "modal" else "/root/.bashrc"
    assert adjusted.env_variables == {"BASH_ENV": wanted}
    assert adjusted.resources.memory_mb == (None if provider == "docker" else 8192)


def test_an_image_of_ones_own_is_left_as_it_is():
    assert not recipe("swebench_verified_docker").matches(
        TASK, plan("swebench_verified", "docker", setup=EnvironmentSetup(image="mine:1"))
    )
