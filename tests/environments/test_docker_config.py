"""The parameters of docker: what they take, and what becomes of them."""

import attrs
import pytest

from agentcompass.environments._docker_config import DockerConfig, size_bytes
from agentcompass.environments._docker_container import (
    Image,
    create_body,
    why_not_running,
    workdir_of,
)
from agentcompass.errors import EnvironmentFailed
from agentcompass.records.environment import EnvironmentSetup, Resources
from tests.contract.environment import request


@pytest.mark.parametrize(
    ("text", "size"),
    [("100", 100), ("512m", 2**29), ("2g", 2**31), ("1.5G", 3 * 2**29), ("64MiB", 2**26)],
)
def test_a_size_is_read_as_docker_spells_it(text, size):
    assert size_bytes(text) == size


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"memory": "lots"}, "memory: expected a size"),
        ({"mounts": ("here",)}, "mounts: expected HOST"),
        ({"mounts": ("/a:relative",)}, "mounts: expected HOST"),
        ({"cpus": -1.0}, "cpus"),
        ({"cpus": 0.0}, "cpus"),
        ({"cpus": 1e-12}, "cpus"),
        ({"cpus": float("inf")}, "cpus"),
        ({"cpus": float("nan")}, "cpus"),
        ({"memory": "0"}, "memory"),
        ({"memory": "0.1b"}, "memory"),
        ({"memory": f"{2**63}"}, "memory"),
        ({"memory": "9" * 400 + "g"}, "memory"),
        ({"workdir": "relative"}, "workdir: expected an absolute path"),
        ({"env": {"A=B": "x"}}, "env: 'A=B' cannot be the name"),
        ({"env": {"A": "\0"}}, "env: .* NUL"),
        ({"pids": 31}, "pids: expected 0 or 32 to"),
        ({"pids": -1}, "pids"),
        ({"dns": ("192.0.2.1", "dns.example.org")}, "dns: expected IPv4"),
        ({"sandbox_start_timeout": -1.0}, "sandbox_start_timeout"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_name(given, told):
    with pytest.raises(ValueError, match=told):
        DockerConfig(**given)


def test_each_parameter_is_explained():
    for field in attrs.fields(DockerConfig):
        assert field.metadata["help"].endswith(".")
        assert field.metadata["unit"]


IMAGE = Image(name="i", user="image-user", workdir="/image")


def test_a_parameter_wins_over_the_plan_and_the_plan_over_the_image():
    plan = {
        "setup": EnvironmentSetup(workdir="/plan", user="plan-user"),
        "resources": Resources(cpu=2, memory_mb=10, gpu=1),
    }
    config = DockerConfig(workdir="/own", user="own-user", cpus=1, memory="1m", gpus=-1)

    own = create_body(config, request(**plan), IMAGE, network="none")
    planned = create_body(DockerConfig(), request(**plan), IMAGE, network="none")
    bare = create_body(DockerConfig(), request(), IMAGE, network="none")

    assert [body["User"] for body in (own, planned, bare)] == [
        "own-user",
        "plan-user",
        "image-user",
    ]
    assert own["HostConfig"]["NanoCpus"] == 10**9
    assert own["HostConfig"]["DeviceRequests"][0]["Count"] == -1
    assert planned["HostConfig"]["Memory"] == planned["HostConfig"]["MemorySwap"] == 10 * 2**20
    assert "Memory" not in bare["HostConfig"]
    assert workdir_of(config, request(**plan), IMAGE) == "/own"
    assert workdir_of(DockerConfig(), request(**plan), IMAGE) == "/plan"
    assert workdir_of(DockerConfig(), request(), IMAGE) == "/image"
    assert workdir_of(DockerConfig(), request(), Image(name="i", workdir="/")) == "/app"
    with pytest.raises(EnvironmentFailed, match="not an absolute path"):
        workdir_of(DockerConfig(), request(setup=EnvironmentSetup(workdir="here")), IMAGE)


def dead(**state: object) -> dict[str, object]:
    about = {"Running": False, "OOMKilled": False, "ExitCode": 0, "Error": ""}
    return {"State": {**about, **state}, "HostConfig": {"Memory": 64 * 2**20}}


def test_a_death_has_its_cause_only_where_the_engine_says_so():
    """Row 51: 137 alone is no want of memory."""
    assert why_not_running("c", dead(Running=True)) is None
    assert "out of memory (limit 64 MB)" in str(
        why_not_running("c", dead(OOMKilled=True, ExitCode=137))
    )
    assert "killed, cause unknown" in str(why_not_running("c", dead(ExitCode=137)))
    assert "exit code 3: no such file; last words" in str(
        why_not_running("c", dead(ExitCode=3, Error="no such file"), "last words")
    )
    assert "paused" in str(why_not_running("c", dead(Running=True, Paused=True)))
