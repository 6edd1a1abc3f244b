"""What is said before a run: an engine that never answers, and mounts of what is not there."""

import pytest
import trio

from agentcompass.environments.docker import Docker, DockerConfig
from agentcompass.errors import EnvironmentFailed, UsageError
from tests.loopback import hang, serve


async def test_an_engine_that_never_answers_is_one_line_after_a_while(monkeypatch):
    monkeypatch.setattr("agentcompass.environments.docker._ANSWER_SECONDS", 0.2)
    told = []
    async with serve(hang) as server:
        monkeypatch.setenv("DOCKER_HOST", server.url.removesuffix("/v1").replace("http", "tcp"))
        provider = Docker(DockerConfig())
        for ask in (provider.preflight, provider.left_over):
            with trio.fail_after(20):
                try:
                    await ask()
                except (UsageError, EnvironmentFailed) as error:  # the nursery would wrap it
                    told.append(str(error))

    assert len(told) == 2
    assert all("does not answer: first answer timeout" in line for line in told)
    assert all("\n" not in line for line in told)


@pytest.mark.parametrize(
    ("host", "told"),
    [
        ("data", "'data' is not an absolute path"),
        ("./data", "'data' is not an absolute path"),
        ("/no/such/folder", "'/no/such/folder' does not exist"),
    ],
)
async def test_a_mount_of_nothing_is_refused_and_nothing_is_made_of_it(monkeypatch, host, told):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere.sock")
    with pytest.raises(UsageError, match=f"mounts: {told}"):
        await Docker(DockerConfig(mounts=(f"{host}:/mnt:ro",))).preflight()
