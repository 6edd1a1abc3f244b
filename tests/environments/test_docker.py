"""What containers add to the contract: images, limits, users, and how things die."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from agentcompass.environments._docker_container import PREFIX
from agentcompass.environments.docker import Docker, DockerConfig
from agentcompass.errors import EnvironmentFailed, UsageError
from agentcompass.records.environment import EnvironmentSetup, NetworkPolicy, Resources
from agentcompass.records.request import EnvironmentSpec
from tests.contract.environment import RUN_ID, request
from tests.contract.test_processes import TREE
from tests.docker_engine import BOOKWORM, BUSYBOX, NO_ENGINE, NO_SHELL, containers, docker, inspect
from tests.environments.docker_sessions import make, opened
from tests.processes import alive, new_mark

pytestmark = [pytest.mark.docker, NO_ENGINE]

FORKS_AND_IGNORES = """
trap '' TERM
setsid sh -c 'trap "" TERM; sleep 60 & sleep 60' &
(setsid sleep 60 &)
sleep 60
"""


@pytest.mark.parametrize("image", [BOOKWORM, BUSYBOX])
async def test_50_deadlines_leave_no_process_and_the_next_command_works(image):
    """Show 3 of the issue; it is the deadline of the exec and the time to kill that count."""
    took = []

    async def ten_rounds() -> None:
        mark = new_mark()
        async with opened(image) as session:
            for _ in range(10):
                began = trio.current_time()
                result = await session.exec(
                    FORKS_AND_IGNORES, env={"MARK": mark}, timeout_seconds=0.2
                )
                took.append(trio.current_time() - began)
                assert result.timed_out
                assert alive(mark) == []
                assert (await session.exec("echo on")).stdout == "on\n"

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(ten_rounds)

    print(f"deadline 0.2 s: median {sorted(took)[25]:.2f} s, longest {max(took):.2f} s")


async def test_processes_of_another_user_end_too():
    mark = new_mark()
    async with opened() as session:
        result = await session.exec(TREE, env={"MARK": mark}, timeout_seconds=0.3, user="nobody")

        assert result.timed_out
        assert alive(mark) == []


BECOMES_ANOTHER = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setuid(65534)
        time.sleep(60)
    os._exit(0)
time.sleep(60)
"""


async def test_an_orphan_that_became_another_user_ends_too():
    """Fails where root of the container may not look into every process."""
    mark = new_mark()
    async with opened() as session:
        result = await session.exec(
            ["python3", "-c", BECOMES_ANOTHER], env={"MARK": mark}, timeout_seconds=0.5
        )
        assert result.timed_out
        assert alive(mark) == []


SPY = """
cp /bin/sh /bin/real-sh && rm /bin/sh
printf '#!/bin/real-sh\\ngrep CapEff /proc/self/status >>/tmp/caps\\nexec real-sh "$@"\\n' >/bin/sh
chmod 755 /bin/sh
"""


async def test_a_shell_that_a_task_put_in_place_gets_no_more_rights_than_the_task():
    """Fails on an engine with all rights of its own where processes are ended with them."""
    async with opened() as session:
        await session.exec(SPY)
        assert (await session.exec("sleep 5", timeout_seconds=0.2)).timed_out
        of_scripts = (await session.read("/tmp/caps")).decode().splitlines()
        own = (await session.exec(["grep", "CapEff", "/proc/self/status"])).stdout.strip()

    assert of_scripts
    assert set(of_scripts) == {own}


async def test_without_a_shell_the_container_is_killed_and_said_to_be_lost():
    async with opened(NO_SHELL) as session:
        assert (await session.exec(["printf", "%s", "x"])).stdout == "x"
        with pytest.raises(EnvironmentFailed, match="no shell"):
            await session.exec("printf x")
        with trio.fail_after(20):
            result = await session.exec(["sleep", "60"], timeout_seconds=0.3)

        assert result.timed_out
        with pytest.raises(EnvironmentFailed, match="container was killed"):
            await session.exec(["printf", "x"])


async def test_partial_output_is_kept_on_both_streams():
    async with opened() as session:
        result = await session.exec("echo out; echo err >&2; sleep 60", timeout_seconds=0.5)

    assert (result.stdout, result.stderr, result.timed_out) == ("out\n", "err\n", True)


async def test_a_long_silence_is_no_fault():
    """Row 43: no client has a read limit of its own."""
    async with opened() as session:
        assert (await session.exec("sleep 6; echo woke", timeout_seconds=30)).stdout == "woke\n"


async def test_a_dead_container_is_told_from_a_failed_command():
    """Row 50: with its state; an agent that prints the same words changes nothing."""
    async with opened() as session:
        said = await session.exec("echo 'No such container: x'; exit 1")
        assert (said.exit_code, said.stdout) == (1, "No such container: x\n")
        docker("kill", session.name)
        with pytest.raises(EnvironmentFailed, match=r"is dead: .*exit code 137 \(killed, cause"):
            await session.exec("echo x")
        docker("rm", session.name)
        with pytest.raises(EnvironmentFailed, match="somebody removed it"):
            await session.exec("echo x")


async def test_a_container_that_dies_under_a_command_is_an_error_of_the_environment():
    async with opened() as session, trio.open_nursery() as nursery:

        async def run() -> None:
            with pytest.raises(EnvironmentFailed, match="is dead"):
                await session.exec("sleep 60")

        nursery.start_soon(run)
        await trio.sleep(0.5)
        await trio.to_thread.run_sync(docker, "kill", session.name)


async def test_want_of_memory_is_said_where_the_engine_says_so():
    """Row 51: a killed process of a container that goes on; and a kill that was none of it."""
    hog = ["python3", "-c", "x = bytearray(200 << 20)"]
    async with opened(config={"memory": "64m"}) as session:
        starved = await session.exec(hog)
        killed = await session.exec("kill -9 $$")

    assert starved.exit_code == 137
    assert "ran out of memory" in starved.stderr
    assert (killed.exit_code, killed.stderr) == (137, "")


async def test_limits_and_mounts_reach_the_container(tmp_path):
    (tmp_path / "given").write_text("from the host")
    config = {"cpus": 0.5, "mounts": (f"{tmp_path}:/mnt/given:ro",), "env": {"A": "1", "B": "1"}}
    async with opened(
        config=config, resources=Resources(cpu=2, memory_mb=100), env_variables={"B": "2"}
    ) as session:
        host = inspect(session.name)["HostConfig"]
        told = await session.exec("cat /mnt/given/given; echo $A$B; touch /mnt/given/x || echo no")

    assert (host["NanoCpus"], host["Memory"], host["MemorySwap"]) == (
        500_000_000,
        100 * 2**20,
        100 * 2**20,
    )
    assert told.stdout == "from the host12\nno\n"
    assert host["Init"]


async def test_labels_tell_whose_a_container_is():
    async with opened() as session:
        labels = inspect(session.name)["Config"]["Labels"]

    assert labels["agentcompass.run"] == RUN_ID
    assert labels["agentcompass.task"] == "task-1"
    assert labels["agentcompass.attempt"] == "1"


async def test_variables_are_neither_on_a_command_line_nor_in_the_container():
    secret = "planted" + "-value"
    async with opened(env_variables={"KEY": secret}) as session:
        about = json.dumps(inspect(session.name))
        seen = await session.exec("cat /proc/*/cmdline; echo $KEY", env={"OTHER": secret + "-2"})

    assert secret not in about
    assert seen.stdout.count(secret) == 1


async def test_what_is_put_below_a_link_to_nowhere_is_refused_by_its_name():
    async with opened() as session:
        await session.exec("ln -s /nowhere /srv/link")
        with pytest.raises(EnvironmentFailed, match="below '/srv/link': there is no '/nowhere'"):
            await session.write("/srv/link/file", b"")


@pytest.mark.parametrize("user", ["nobody", "65534:65534"])
async def test_a_user_has_what_is_uploaded_and_the_working_directory(tmp_path, user):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/file").write_text("x")
    (tmp_path / "sub/file").chmod(0o640)
    async with opened(config={"user": user, "workdir": "/srv/here"}) as session:
        await session.upload(tmp_path, "up")
        await session.write("made/one", b"1", mode=0o600)
        told = await session.exec("id -un; stat -c '%U %a' . up/sub up/sub/file made made/one")

    assert told.stdout.splitlines() == [
        "nobody",
        "nobody 755",
        "nobody 755",
        "nobody 640",
        "nobody 755",
        "nobody 600",
    ]


async def test_an_entry_point_is_put_aside(tmp_path):
    """Row 48."""
    (tmp_path / "Dockerfile").write_text(
        f'FROM {BOOKWORM}\nENTRYPOINT ["false"]\nWORKDIR /srv/x\nUSER nobody\nENV FROM_IMAGE=1\n'
    )
    setup = EnvironmentSetup(build_context=str(tmp_path))
    async with opened(setup=setup) as session:
        told = await session.exec("pwd; id -un; echo $FROM_IMAGE")
        assert session.built_context

    assert told.stdout == "/srv/x\nnobody\n1\n"


async def test_a_dockerfile_is_built_once_and_again_when_its_folder_changes(tmp_path):
    (tmp_path / "Dockerfile").write_text(f"FROM {BOOKWORM}\nCOPY . /app\n")
    (tmp_path / "file").write_text("one")
    setup = EnvironmentSetup(build_context=str(tmp_path))
    async with opened(setup=setup) as first, opened(setup=setup) as again:
        assert await first.read("/app/file") == b"one"
        assert inspect(first.name)["Image"] == inspect(again.name)["Image"]
    (tmp_path / "file").write_text("two")
    async with opened(setup=setup) as changed:
        assert await changed.read("/app/file") == b"two"


async def test_a_dockerfile_that_fails_says_how(tmp_path):
    (tmp_path / "Dockerfile").write_text(f"FROM {BOOKWORM}\nRUN echo told-you && exit 3\n")
    with pytest.raises(EnvironmentFailed, match=r"cannot be built: .*told-you.*code: 3"):
        async with opened(setup=EnvironmentSetup(build_context=str(tmp_path))):
            pass


async def test_a_missing_image_is_named_with_the_remedy():
    for config, told in (({"pull": "never"}, "pull is never"), ({}, "cannot be pulled")):
        provider = Docker(DockerConfig(**config))
        with pytest.raises(EnvironmentFailed, match=rf"'no-such-image:1' .*{told}"):
            await provider.open(request(setup=EnvironmentSetup(image="no-such-image:1")))
        wish = EnvironmentSpec(id="docker", setup=EnvironmentSetup(image="no-such-image:1"))
        with pytest.raises(UsageError, match=f"--env-params: .*{told}"):
            await provider.check(wish)


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"user": "nobody-knows"}, "unable to find user nobody-knows"),
        ({"network": "no-such-network"}, "Docker says"),
    ],
)
async def test_an_image_that_cannot_stay_up_leaves_nothing(config, told):
    asked = request(setup=EnvironmentSetup(image=BOOKWORM))
    with pytest.raises(EnvironmentFailed, match=told):
        await make(**config).open(asked)

    assert PREFIX + asked.resource.id not in containers()


async def test_an_open_that_is_cancelled_at_any_moment_leaves_no_container():
    """Fails where the creation itself is cancelled: the engine goes on with it."""
    names = set()
    for hundredths in range(0, 40, 2):
        asked = request(setup=EnvironmentSetup(image=BOOKWORM))
        names.add(PREFIX + asked.resource.id)
        with trio.move_on_after(hundredths / 100):
            session = await make().open(asked)
            await session.aclose()
    await trio.sleep(0.5)

    assert names & set(containers()) == set()


async def test_no_engine_is_one_line_with_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(UsageError, match=r"none\.sock .*start it .*DOCKER_HOST"):
        await make().preflight()
    monkeypatch.setenv("DOCKER_HOST", "ssh://somewhere")
    with pytest.raises(UsageError, match=r"ssh://somewhere.*unix:// and tcp://"):
        await make().preflight()


@pytest.mark.skipif(os.getuid() != 0, reason="gives a socket to somebody else")
def test_an_engine_that_may_not_be_used_names_the_group(tmp_path):
    path = tmp_path / "engine.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        os.chown(path, 65534, 65534)
        path.chmod(0o600)
        script = (
            "import trio\nfrom agentcompass.environments.docker import Docker, DockerConfig\n"
            "trio.run(Docker(DockerConfig()).preflight)\n"
        )
        # Root as other users are: without the right to what is not its own.
        done = subprocess.run(
            ["setpriv", "--bounding-set=-dac_override", sys.executable, "-c", script],
            cwd=Path(__file__).resolve().parents[2],
            env={**os.environ, "DOCKER_HOST": f"unix://{path}"},
            capture_output=True,
            text=True,
            check=False,
        )

    assert "join the group docker" in done.stderr


async def test_an_allowlist_without_its_helper_is_refused_before_the_run(monkeypatch):
    monkeypatch.setattr("agentcompass.environments.docker.HELPER_IMAGE", "no-such-helper:1")
    provider = make()
    await provider.preflight()
    policy = NetworkPolicy(network_mode="allowlist", allowed_hosts=("192.0.2.1",))

    with pytest.raises(UsageError, match=r"docker_network_image\.sh"):
        await provider.check(EnvironmentSpec(id="docker", verifier_network_policy=policy))
    assert "allowlist" not in provider.capabilities.network_modes


async def test_a_task_without_an_image_says_what_to_do():
    with pytest.raises(EnvironmentFailed, match="names no image"):
        async with opened(setup=EnvironmentSetup()):
            pass


async def test_a_container_that_was_removed_is_told_from_a_path_that_is_missing(tmp_path):
    """Fails where what the engine says of either counts as a missing path: then `write` looks for
    an existing parent for ever, and artifacts that are lost look like artifacts of none."""
    (tmp_path / "file").write_text("x")
    async with opened() as session:
        for path in ("/none", "/etc/passwd/none"):
            with pytest.raises(FileNotFoundError):
                await session.read(path)
        docker("rm", "--force", session.name)
        for operation in (
            lambda: session.read("/none"),
            lambda: session.download("/none", tmp_path / "to"),
            lambda: session.write("/a/b", b"x"),
            lambda: session.upload(tmp_path / "file", "/a/b"),
        ):
            with trio.fail_after(20), pytest.raises(EnvironmentFailed, match="somebody removed it"):
                await operation()


async def test_a_user_that_is_not_root_has_the_folders_of_a_task(tmp_path):
    """Also where the image has some of them, as root's."""
    (tmp_path / "Dockerfile").write_text(
        f"FROM {BOOKWORM}\nRUN mkdir -p /logs/agent /tests && touch /tests/old\nUSER nobody\n"
    )
    script = """
    for folder in /logs/agent /logs/verifier /logs/artifacts /tests /solution; do
        mkdir -p $folder && touch $folder/mine || exit 1
    done
    rm /tests/old && mkdir /logs/more
    """
    async with opened(setup=EnvironmentSetup(build_context=str(tmp_path))) as session:
        told = await session.exec(script)

    assert told.ok, told.stderr


async def test_what_archives_do_not_reach_is_refused_and_not_lost(tmp_path):
    """Fails where a write is believed that went below a mount, where nobody in there sees it."""
    (tmp_path / "file").write_text("x")
    async with opened() as session:
        await session.exec("ln -s /dev/shm /linked; echo inside >/dev/shm/x")
        for path in ("/dev/shm/x", "/dev/shm", "/proc/x", "/sys/x"):
            for operation in (
                lambda path=path: session.read(path),
                lambda path=path: session.download(path, tmp_path / "to"),
                lambda path=path: session.write(path, b"x"),
                lambda path=path: session.upload(tmp_path / "file", path),
            ):
                with pytest.raises(EnvironmentFailed, match="let a command copy it"):
                    await operation()
        with pytest.raises(EnvironmentFailed, match="let a command copy it"):
            await session.write("/linked/x", b"x")
        assert (await session.exec("cat /dev/shm/x")).stdout == "inside\n"


async def test_files_of_mounted_folders_and_of_the_engine_go_both_ways(tmp_path):
    (tmp_path / "here").mkdir()
    async with opened(config={"mounts": (f"{tmp_path}/here:/mnt/here",)}) as session:
        await session.write("/mnt/here/x", b"1")
        assert (tmp_path / "here/x").read_bytes() == b"1"
        assert await session.read("/mnt/here/x") == b"1"
        assert b"localhost" in await session.read("/etc/hosts")


async def test_set_ids_and_sticky_bits_go_in_neither_direction(tmp_path):
    (tmp_path / "up").mkdir()
    (tmp_path / "up/file").write_text("x")
    (tmp_path / "up/file").chmod(0o6755)
    (tmp_path / "up").chmod(0o1777)
    async with opened() as session:
        await session.upload(tmp_path / "up", "/srv/up")
        await session.write("/srv/up/own", b"x", mode=0o4755)
        modes = await session.exec("stat -c %a /srv/up /srv/up/file /srv/up/own")
        await session.exec("chmod 6755 /srv/up/file; chmod 1777 /srv/up")
        await session.download("/srv/up", tmp_path / "down")

    assert modes.stdout.split() == ["777", "755", "755"]
    assert [(tmp_path / path).stat().st_mode & 0o7777 for path in ("down", "down/file")] == [
        0o777,
        0o755,
    ]
