"""What host_process does beyond the contract: folders, users, keeping, refusing."""

import contextlib
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import trio

from agentcompass.deadlines import CleanupClock
from agentcompass.environments import _host_folder
from agentcompass.environments._host_env import folder_variables, host_variables
from agentcompass.environments._host_folder import (
    PREFIX,
    make_folder,
    remove_folder,
    root_of,
)
from agentcompass.environments.host_process import HostProcess, HostProcessConfig
from agentcompass.errors import ConfigInvalid, EnvironmentFailed, UsageError
from agentcompass.protocols import SessionRequest
from agentcompass.records.convert import structure_settings
from agentcompass.records.environment import EnvironmentPlan, EnvironmentSetup, NetworkPolicy
from tests.contract.environment import HOST_PROCESS, opened, request
from tests.processes import alive, new_mark, wait_for_alive


@pytest.fixture(autouse=True)
def temporary_folder(tmp_path, monkeypatch):
    """Session folders go below the test's own folder, so that left ones are seen."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


async def test_a_session_says_where_its_folders_are():
    async with opened(HOST_PROCESS) as session:
        result = await session.exec(
            'cd "$APP_DIR" && pwd && cd "$TESTS_DIR" && pwd && cd "$LOGS_DIR/agent" && pwd &&'
            ' cd "$LOGS_DIR/verifier" && cd "$LOGS_DIR/artifacts" && cd "$SOLUTION_DIR" &&'
            ' cd "$HOME" && cd "$TMPDIR" && pwd'
        )

    root = Path(session.workdir).parent
    assert result.stdout.split() == [
        str(root / name) for name in ("app", "tests", "logs/agent", "tmp")
    ]
    assert root.name.startswith(PREFIX)
    assert session.name == str(root)


async def test_a_task_path_and_its_variable_are_one_file():
    async with opened(HOST_PROCESS) as session:
        for folder in ("app", "tests", "logs", "solution"):
            await session.write(f"/{folder}/sub/x", folder.encode())
            shown = await session.exec(f'cat "${folder.upper()}_DIR/sub/x"')
            assert shown.stdout == folder


async def test_a_sessions_folder_is_private_and_goes_with_it(temporary_folder):
    async with opened(HOST_PROCESS) as session:
        root = Path(session.workdir).parent
        await session.write("file", b"")
        assert stat.S_IMODE(root.stat().st_mode) == 0o700

    assert list(temporary_folder.iterdir()) == []


async def test_a_kept_session_keeps_its_folder_but_no_process():
    session = await HOST_PROCESS.make().open(request(keep=True))
    await session.exec("echo kept > file; sleep 60 &", env={"MARK": (mark := new_mark())})
    await wait_for_alive(mark)

    await session.aclose()

    assert alive(mark) == []
    assert Path(session.workdir, "file").read_text() == "kept\n"


async def test_a_working_directory_below_app_is_made_and_used():
    setup = EnvironmentSetup(workdir="/app/deep/er")
    async with opened(HOST_PROCESS, setup=setup) as session:
        await session.write("file", b"")
        result = await session.exec("pwd; ls")

    assert result.stdout == f"{session.workdir}\nfile\n"
    assert session.workdir.endswith("/app/deep/er")


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"setup": EnvironmentSetup(workdir="/root")}, "working directory '/root'"),
        ({"setup": EnvironmentSetup(user="somebody-else")}, "as the current user"),
        ({"setup": EnvironmentSetup(os="windows")}, "needs 'windows'"),
        ({"network_policy": NetworkPolicy(network_mode="no-network")}, "'no-network'"),
    ],
)
async def test_what_cannot_be_given_is_refused_and_nothing_is_left(temporary_folder, plan, message):
    with pytest.raises(EnvironmentFailed, match=message):
        await HOST_PROCESS.make().open(request(**plan))

    assert list(temporary_folder.iterdir()) == []


async def test_a_session_that_is_not_used_has_no_folder(temporary_folder):
    """Fails when `open` makes it: a folder takes longer than a call of a model."""
    async with opened(HOST_PROCESS) as session:
        assert list(temporary_folder.iterdir()) == []
        await session.write("x", b"1")
        assert len(list(temporary_folder.iterdir())) == 1

    assert list(temporary_folder.iterdir()) == []
    with pytest.raises(EnvironmentFailed, match="closed"):
        await session.write("x", b"1")


async def test_a_session_that_was_never_used_is_closed_all_the_same(temporary_folder):
    async with opened(HOST_PROCESS) as session:
        pass

    for use in (session.exec("true"), session.write("x", b"1")):
        with pytest.raises(EnvironmentFailed, match="closed"):
            await use
    assert list(temporary_folder.iterdir()) == []


async def test_the_first_uses_at_once_have_one_folder():
    async with opened(HOST_PROCESS) as session, trio.open_nursery() as nursery:
        for number in range(8):
            nursery.start_soon(session.write, f"f{number}", b"1")


async def test_a_session_that_finds_no_room_leaves_nothing(monkeypatch, temporary_folder):
    monkeypatch.setattr(tempfile, "tempdir", str(temporary_folder / "missing"))

    session = await HOST_PROCESS.make().open(request())
    with pytest.raises(EnvironmentFailed, match="no folder"):
        await session.exec("true")
    await session.aclose()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary_folder))
    with pytest.raises(EnvironmentFailed, match="cannot be made"):
        make_folder(root_of("x"), "x" * 300)

    assert list(temporary_folder.iterdir()) == []


async def test_only_the_current_user_and_the_public_network_can_be_had():
    async with opened(HOST_PROCESS) as session:
        for user in (None, str(os.getuid())):
            assert (await session.exec("true", user=user)).ok
        with pytest.raises(EnvironmentFailed, match="current user"):
            await session.exec("true", user="somebody-else")
        with pytest.raises(EnvironmentFailed, match="allowlist"):
            await session.set_network_policy(NetworkPolicy(network_mode="allowlist"))


async def test_files_of_the_host_are_read_but_not_written(tmp_path):
    (tmp_path / "file").write_text("of the host")
    async with opened(HOST_PROCESS) as session:
        assert await session.read(str(tmp_path / "file")) == b"of the host"
        await session.download(str(tmp_path / "file"), tmp_path / "copy")
        with pytest.raises(EnvironmentFailed, match="outside the session"):
            await session.write(str(tmp_path / "file"), b"")
        with pytest.raises(EnvironmentFailed, match="outside the session"):
            await session.upload(tmp_path / "file", str(tmp_path / "new"))

    assert (tmp_path / "copy").read_text() == "of the host"
    assert not (tmp_path / "new").exists()


async def test_links_of_the_agent_lead_neither_writes_nor_downloads_outside(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("untouched")
    async with opened(HOST_PROCESS) as session:
        await session.exec(
            'rm -rf "$TESTS_DIR"; ln -s "$OUT" "$TESTS_DIR"', env={"OUT": str(outside)}
        )
        with pytest.raises(EnvironmentFailed, match="leads out"):
            await session.download("/tests", tmp_path / "copy")
        with pytest.raises(EnvironmentFailed, match="outside the session"):
            await session.write("/tests/file", b"overwritten")
        await session.upload(outside, "/tests")
        assert await session.read("/tests/file") == b"untouched"

    assert (outside / "file").read_text() == "untouched"


async def test_a_long_copy_ends_at_its_deadline(tmp_path):
    (tmp_path / "source").mkdir()
    for number in range(300):
        (tmp_path / f"source/{number}").write_text("x")
    async with opened(HOST_PROCESS) as session:
        with trio.move_on_after(0) as scope:
            await session.upload(tmp_path / "source", "target")
        assert scope.cancelled_caught
        with trio.fail_after(20), trio.move_on_after(0.005):
            for number in range(1000):
                await session.upload(tmp_path / "source", f"target{number}")


async def test_named_host_variables_are_handed_through(monkeypatch):
    monkeypatch.setenv("HANDED", "through")
    environment = HostProcess(HostProcessConfig(pass_env=("HANDED", "NOT_THERE")))
    session = await environment.open(request())

    result = await session.exec("echo ${HANDED} ${NOT_THERE-unset}")

    await session.aclose()
    assert result.stdout == "through unset\n"


def test_few_host_variables_reach_commands(tmp_path):
    (tmp_path / "home/.pyenv").mkdir(parents=True)
    host = {"HOME": str(tmp_path / "home"), "PATH": "/bin", "AWS_SECRET_ACCESS_KEY": "x"}

    variables = host_variables(host, ()) | folder_variables(tmp_path / "root")

    assert variables["PYENV_ROOT"] == str(tmp_path / "home/.pyenv")
    assert variables["HOME"] == str(tmp_path / "root/home")
    assert variables["LANG"] == "C.UTF-8"
    assert "AWS_SECRET_ACCESS_KEY" not in variables
    assert "LANG" not in host_variables({"LC_ALL": "de_DE.UTF-8"}, ())


async def test_a_tool_that_needs_its_home_on_the_host_is_found():
    async with opened(HOST_PROCESS) as session:
        result = await session.exec("python3 -c 'print(6 * 7)'")

    assert result.stdout == "42\n"


async def test_removal_copes_with_what_may_not_be_touched(temporary_folder):
    async with opened(HOST_PROCESS) as session:
        await session.exec("mkdir -p locked/in; touch locked/in/f; chmod 000 locked/in locked")

    assert list(temporary_folder.iterdir()) == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_removal_copes_as_an_ordinary_user():
    """Root may delete anything, so this runs as nobody."""
    script = (
        "import os\n"
        "from agentcompass.environments._host_folder import make_folder, remove_folder, root_of\n"
        "os.setuid(65534)\n"
        "root = root_of('x'); make_folder(root, 'a/b'); (root / 'app/a/b/f').touch()\n"
        "(root / 'app/a/b').chmod(0o500); (root / 'app/a').chmod(0); (root / 'app').chmod(0o500)\n"
        "remove_folder(root); print(root.exists())\n"
    )
    environment = {**os.environ, "TMPDIR": "/tmp", "PYTHONDONTWRITEBYTECODE": "1"}

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False
    )

    assert (done.stdout, done.stderr) == ("False\n", "")


async def test_what_cannot_be_removed_is_said_when_the_processes_are_gone(monkeypatch):
    session = await HOST_PROCESS.make().open(request())
    await session.exec("sleep 60 &", env={"MARK": (mark := new_mark())})

    def stuck(root: Path) -> None:
        raise EnvironmentFailed(f"session folder {str(root)!r} cannot be removed")

    with monkeypatch.context() as patch:
        patch.setattr(_host_folder, "remove_folder", stuck)
        with pytest.raises(EnvironmentFailed, match="cannot be removed"):
            await session.aclose()

    assert alive(mark) == []
    await session.aclose()
    assert not Path(session.workdir).exists()


def test_removing_what_is_gone_is_no_fault(tmp_path):
    remove_folder(tmp_path / "gone")


async def test_with_no_time_for_cleanup_processes_are_killed_all_the_same():
    plan = EnvironmentPlan(id="host_process")
    no_time = SessionRequest(
        plan=plan, run_id="r", task_id="t", attempt=1, cleanup=CleanupClock(0.0)
    )
    session = await HOST_PROCESS.make().open(no_time)
    mark = new_mark()

    async def run() -> None:
        await session.exec("trap '' TERM; setsid sleep 60 & sleep 60", env={"MARK": mark})

    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            await wait_for_alive(mark, 2)
            nursery.cancel_scope.cancel()
        while alive(mark):  # noqa: ASYNC110  # killed, and not waited for
            await trio.sleep(0.01)

    await session.aclose()


async def test_a_session_that_ran_nothing_looks_at_no_process(monkeypatch):
    environment = HOST_PROCESS.make()
    session = await environment.open(request())

    await session.aclose()
    assert environment._table._begun == 0

    session = await environment.open(request())
    await session.exec("true")
    assert environment._table._begun == 0
    await session.aclose()
    assert environment._table._begun > 0


async def test_ending_many_trees_keeps_the_loop_responsive():
    session = await HOST_PROCESS.make().open(request())
    longest = 0.0

    async def beat() -> None:
        nonlocal longest
        while True:
            before = trio.current_time()
            await trio.sleep(0.001)
            longest = max(longest, trio.current_time() - before)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(beat)
        async with trio.open_nursery() as trees:
            for _ in range(16):
                trees.start_soon(run_tree, session)
        nursery.cancel_scope.cancel()

    await session.aclose()
    assert longest < 1


async def run_tree(session) -> None:
    with contextlib.suppress(EnvironmentFailed):
        await session.exec("trap '' TERM; setsid sleep 60 & sleep 60", timeout_seconds=0.3)


@pytest.mark.parametrize(
    "params",
    [
        {"operation_timeout": -1},
        {"sandbox_start_timeout": float("inf")},
        {"operation_timeout": True},
        {"output_limit_bytes": 1.5},
        {"kill_grace_seconds": "0.1"},
        {"pass_env": "HOME"},
        {"image": "x"},
    ],
)
def test_a_bad_parameter_is_refused_by_name(params):
    with pytest.raises(ConfigInvalid, match=next(iter(params))):
        structure_settings(params, HostProcessConfig, path="environment.params")


async def test_preflight_says_what_this_host_lacks(monkeypatch):
    await HOST_PROCESS.make().preflight()
    monkeypatch.setenv("PATH", "/no/such/folder")

    with pytest.raises(UsageError, match="bash or sh"):
        await HOST_PROCESS.make().preflight()


async def test_without_bash_commands_are_read_by_sh(monkeypatch, tmp_path):
    (tmp_path / "sh").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", str(tmp_path))
    session = await HOST_PROCESS.make().open(request())

    result = await session.exec("echo $0")
    large = await session.exec(": " + "x" * 200_000 + "; echo ran")

    await session.aclose()
    assert result.stdout == f"{tmp_path}/sh\n"
    assert large.stdout == "ran\n"
