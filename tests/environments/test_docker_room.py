"""Limits that a host cannot give are refused by name: before the run, or as the task's fault."""

import math

import pytest

from agentcompass.environments._docker_config import DockerConfig
from agentcompass.environments._docker_limits import limits_of, refuse
from agentcompass.errors import EnvironmentFailed, UsageError
from agentcompass.records.environment import Resources
from agentcompass.records.request import EnvironmentSpec
from tests.docker_engine import NO_ENGINE
from tests.environments.docker_sessions import make, opened

ABOUT = {"NCPU": 2, "MemTotal": 2**30, "Runtimes": {"runc": {}}}
BEYOND = [
    (Resources(cpu=0), "cpus: 0 cores"),
    (Resources(cpu=-1), "cpus: -1 cores"),
    (Resources(cpu=math.nan), "cpus: nan cores"),
    (Resources(cpu=math.inf), "cpus: inf cores"),
    (Resources(cpu=0.001), "cpus: 0.001 cores"),
    (Resources(cpu=100_000), "cpus: 100000 cores"),
    (Resources(memory_mb=0), "memory: 0 MB"),
    (Resources(memory_mb=-5), "memory: -5 MB"),
    (Resources(memory_mb=5), "memory: 5 MB"),
    (Resources(memory_mb=2**40), "memory: .* MB"),
    (Resources(gpu=-2), "gpus: -2 GPUs"),
    (Resources(gpu=1), "no runtime nvidia"),
]


@pytest.mark.parametrize(("resources", "told"), BEYOND)
def test_what_the_host_cannot_give_is_named(resources, told):
    with pytest.raises(EnvironmentFailed, match=told):
        refuse(limits_of(DockerConfig(), resources), ABOUT)


def test_what_the_host_can_give_is_not_refused():
    able = {**ABOUT, "Runtimes": {"nvidia": {}}}
    for resources in (Resources(), Resources(cpu=2, memory_mb=1024, gpu=-1), Resources(cpu=0.01)):
        refuse(limits_of(DockerConfig(), resources), able)
    refuse(limits_of(DockerConfig(), Resources(memory_mb=6, gpu=0)), ABOUT)


def test_a_parameter_that_cannot_be_given_is_refused_though_the_plan_could_be():
    with pytest.raises(EnvironmentFailed, match="memory: 2048 MB"):
        refuse(limits_of(DockerConfig(memory="2g"), Resources(memory_mb=512)), ABOUT)


@pytest.mark.docker
@NO_ENGINE
@pytest.mark.parametrize("field", ["resources", "evaluation_resources"])
async def test_what_the_user_names_is_refused_before_the_run(field):
    for resources, told in BEYOND:
        with pytest.raises(UsageError, match=f"--env-params: {told}|--env-params: .*{told}"):
            await make().check(EnvironmentSpec(id="docker", **{field: resources}))


@pytest.mark.docker
@NO_ENGINE
async def test_what_a_task_names_is_a_fault_of_its_environment():
    for resources, told in BEYOND:
        with pytest.raises(EnvironmentFailed, match=told):
            async with opened(resources=resources):
                pass
