"""What is said before a run: an engine that never answers, and mounts of what is not there."""

import pytest
import trio

from agentcompass.environments.docker import Docker, DockerConfig
from agentcompass.errors import EnvironmentFailed, UsageError
from tests.environments.test_docker_connect import self_signed
from tests.loopback import answer, hang, serve


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


async def refusal(monkeypatch, server, **variables: str) -> str:
    """What preflight says of what answers there."""
    monkeypatch.setenv(
        "DOCKER_HOST", "tcp" + server.url[server.url.index(":") :].removesuffix("/v1")
    )
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    try:
        await Docker(DockerConfig()).preflight()
    except UsageError as error:  # the nursery would wrap it
        return str(error)
    return ""


async def test_tls_on_one_side_only_names_the_variables(monkeypatch, tmp_path):
    context = self_signed(tmp_path)
    async with serve(answer({"ApiVersion": "1.41"})) as plain:
        told = await refusal(
            monkeypatch, plain, DOCKER_CERT_PATH=str(tmp_path), DOCKER_TLS_VERIFY="1"
        )
    monkeypatch.delenv("DOCKER_CERT_PATH")
    monkeypatch.delenv("DOCKER_TLS_VERIFY")
    async with serve(answer({"ApiVersion": "1.41"}), tls=context) as secured:
        untold = await refusal(monkeypatch, secured)

    assert "check DOCKER_TLS_VERIFY and DOCKER_CERT_PATH" in told
    assert "does not answer" in untold
    assert "\n" not in told + untold


@pytest.mark.parametrize("about", [{}, {"ApiVersion": "new"}, [], {"ApiVersion": 1}])
async def test_what_is_no_engine_is_called_so(monkeypatch, about):
    async with serve(answer(about)) as server:
        assert "is not a Docker Engine" in await refusal(monkeypatch, server)
