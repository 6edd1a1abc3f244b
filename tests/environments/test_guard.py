"""What a killed engine leaves running is ended by its guard: real engines, real processes."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from agentcompass.environments import _guard
from agentcompass.environments._procfs import scan
from agentcompass.environments.host_process import HostProcess, HostProcessConfig
from tests.contract.environment import FAKE, request
from tests.processes import alive, new_mark, wait_for_alive

REPOSITORY = Path(__file__).resolve().parents[2]

# An engine with one session for each command on its command line; it says when they run.
ENGINE = """
import sys, trio
from agentcompass.environments.host_process import HostProcess, HostProcessConfig
from tests.contract.environment import request

async def main():
    provider = HostProcess(HostProcessConfig())
    async with provider.running(keep=sys.argv[1] == "keep"), trio.open_nursery() as nursery:
        for command in sys.argv[2:]:
            session = await provider.open(request())
            nursery.start_soon(session.exec, command)
        print("open", flush=True)

trio.run(main)
"""

# Forks, leaves its session, ignores SIGTERM, and is orphaned; all of it stays in the foreground.
TREE = (
    "trap '' TERM; (setsid sh -c 'trap \"\" TERM; setsid sleep 300 & sleep 300' &);"
    " sleep 300 & sleep 300"
)
OF_A_TREE = 6


@pytest.fixture
def temporary(tmp_path):
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


@contextlib.contextmanager
def engine(
    mark: str, temporary: Path, *commands: str, keep: bool = False
) -> Iterator[subprocess.Popen[bytes]]:
    """An engine that runs `commands`, each of which has `mark` in its text or environment."""
    arguments = ["keep" if keep else "end", *(f": {mark}; {command}" for command in commands)]
    process = subprocess.Popen(
        [sys.executable, "-c", ENGINE, *arguments],
        cwd=REPOSITORY,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"open\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def guards(parent: int) -> list[int]:
    """The guards that `parent` has started."""
    return [process.pid for process in scan() if process.parent == parent and is_guard(process.pid)]


def is_guard(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return b"_guard_main.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def only_guard(parent: int) -> int:
    (guard,) = guards(parent)
    return guard


def inside(temporary: Path) -> list[int]:
    """The live processes that work in a session folder, whatever their environment says."""
    return [process.pid for process in scan() if process.cwd.startswith(f"{temporary}/")]


def marked(temporary: Path) -> list[str]:
    return alive(f"TMPDIR={temporary}/agentcompass-")


async def until_gone(guard: int, temporary: Path) -> float:
    """Seconds until neither the guard nor a process of its run is left; fails after 20."""
    began = trio.current_time()
    with trio.fail_after(20):
        while is_guard(guard) or marked(temporary) or inside(temporary):  # noqa: ASYNC110
            await trio.sleep(0.01)
    return trio.current_time() - began


async def test_nothing_of_eight_stubborn_trees_outlives_a_killed_engine(temporary):
    with engine(new_mark(), temporary, *[TREE] * 8) as process:
        await wait_for_alive(f"TMPDIR={temporary}/agentcompass-", 8 * OF_A_TREE)
        guard = only_guard(process.pid)

        process.kill()
        took = await until_gone(guard, temporary)

    print(f"all gone after {took:.2f} s")
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    "command",
    [
        "exec env -i sleep 300",
        "(exec env -i setsid sleep 300) & sleep 300",
        "(env -i setsid sleep 300 &); sleep 300",
        "cd /; env -i sh -c 'sleep 300 & sleep 300'; true",
    ],
)
async def test_what_cleared_its_environment_is_found_by_its_folder_parent_or_session(
    temporary, command
):
    with engine(new_mark(), temporary, command) as process:
        with trio.fail_after(20):
            while not (sleepers := sleeping_below(process.pid, temporary)):  # noqa: ASYNC110
                await trio.sleep(0.01)
        guard = only_guard(process.pid)

        process.kill()
        await until_gone(guard, temporary)

    assert sleepers & {process.pid for process in scan()} == set()


def sleeping_below(engine_pid: int, temporary: Path) -> set[int]:
    """The `sleep` processes of an engine that carry no variable at all."""
    processes = scan()
    below = {engine_pid}
    for process in sorted(processes, key=lambda process: process.started):
        if process.parent in below or process.cwd.startswith(f"{temporary}/"):
            below.add(process.pid)
    return {pid for pid in below if cleared_sleep(pid)}


def cleared_sleep(pid: int) -> bool:
    with contextlib.suppress(OSError):
        folder = Path(f"/proc/{pid}")
        is_sleep = (folder / "cmdline").read_bytes().startswith(b"sleep\0")
        return is_sleep and b"AGENTCOMPASS" not in (folder / "environ").read_bytes()
    return False


async def test_a_process_that_forks_and_leaves_again_and_again_is_ended(temporary):
    restless = (
        "python3 -c 'import os, time\nwhile True:\n  if os.fork(): os._exit(0)\n"
        "  os.setsid(); time.sleep(0.002)' & sleep 300"
    )
    with engine(new_mark(), temporary, restless) as process:
        await wait_for_alive(f"TMPDIR={temporary}/agentcompass-", 3)
        guard = only_guard(process.pid)

        process.kill()
        await until_gone(guard, temporary)


async def test_signals_to_the_engines_group_do_not_reach_the_guard(temporary):
    with engine(new_mark(), temporary, "sleep 300") as process:
        await asleep(guard := only_guard(process.pid))
        os.kill(guard, signal.SIGTERM)
        os.kill(guard, signal.SIGINT)
        await trio.sleep(0.1)
        assert is_guard(guard)

        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        await until_gone(guard, temporary)


async def test_with_kept_environments_there_is_no_guard(temporary):
    with engine(new_mark(), temporary, "sleep 300", keep=True) as process:
        await wait_for_alive(f"TMPDIR={temporary}/agentcompass-")
        assert guards(process.pid) == []
        process.kill()
        process.wait()
    assert marked(temporary) != []
    for line in marked(temporary):
        os.kill(int(line.split()[0]), signal.SIGKILL)


async def test_a_guard_is_small_idle_and_holds_nothing_but_its_pipe():
    async with HostProcess(HostProcessConfig()).running(keep=False):
        guard = only_guard(os.getpid())
        await asleep(guard)
        held = {int(p.name): str(p.readlink()) for p in Path(f"/proc/{guard}/fd").iterdir()}
        status = Path(f"/proc/{guard}/status").read_text()
        before = cpu_ticks(guard)
        await trio.sleep(0.3)

        assert {number: held.pop(number) for number in (0, 1, 2)} == dict.fromkeys(
            range(3), "/dev/null"
        )
        assert [target.startswith("pipe:") for target in held.values()] == [True]
        kilobytes = int(status.partition("VmRSS:")[2].split()[0])
        assert kilobytes < 20_000
        assert cpu_ticks(guard) == before
        assert os.getsid(guard) == guard
        assert Path(f"/proc/{guard}/environ").read_bytes().count(b"\0") <= 1


async def asleep(guard: int) -> None:
    """Return once the guard has started: it ignores signals from then on, and only waits."""
    with trio.fail_after(20):
        while not ignores_term(guard):  # noqa: ASYNC110  # a process tells nobody
            await trio.sleep(0.01)
    await trio.sleep(0.1)


def ignores_term(pid: int) -> bool:
    ignored = Path(f"/proc/{pid}/status").read_text().partition("SigIgn:")[2].split()[0]
    return bool(int(ignored, 16) >> (signal.SIGTERM - 1) & 1)


def cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


async def test_a_run_that_ends_takes_its_guard_with_it():
    async with HostProcess(HostProcessConfig()).running(keep=False):
        guard = only_guard(os.getpid())

    assert not Path(f"/proc/{guard}").exists()
    assert _guard._ends == set()


async def test_a_cancelled_run_takes_its_guard_with_it():
    with trio.CancelScope() as scope:
        async with HostProcess(HostProcessConfig()).running(keep=False):
            guard = only_guard(os.getpid())
            scope.cancel()
            await trio.sleep_forever()

    assert not Path(f"/proc/{guard}").exists()


async def test_two_runs_of_one_process_do_not_harm_each_other():
    first, second = (HostProcess(HostProcessConfig()) for _ in range(2))
    mark = new_mark()
    async with first.running(keep=False):
        async with second.running(keep=False):
            assert len(guards(os.getpid())) == 2
        session = await first.open(request())
        await session.exec("sleep 60 &", env={"MARK": mark})
        async with second.running(keep=False):
            pass

        assert len(alive(mark)) == 1
        assert len(guards(os.getpid())) == 1
        await session.aclose()


async def test_neither_a_command_nor_a_fork_holds_the_engines_end():
    provider = HostProcess(HostProcessConfig())
    async with provider.running(keep=False):
        (end,) = _guard._ends
        pipe = str(Path(f"/proc/self/fd/{end}").readlink())
        session = await provider.open(request())
        shown = await session.exec("ls -l /proc/self/fd")
        await session.aclose()
        assert pipe not in shown.stdout

    script = (
        "import os, trio\n"
        "from agentcompass.environments import _guard\n"
        "async def main():\n"
        "    async with _guard.guarded(mark='A=b', folders='/none/such'):\n"
        "        (end,) = _guard._ends\n"
        "        child = os.fork()\n"
        "        if not child:\n"
        "            os._exit(os.path.exists(f'/proc/self/fd/{end}') or bool(_guard._ends))\n"
        "        print(os.waitpid(child, 0)[1])\n"
        "trio.run(main)\n"
    )
    done = await trio.run_process(
        [sys.executable, "-c", script], capture_stdout=True, cwd=REPOSITORY
    )
    assert done.stdout == b"0\n"


async def test_a_guard_that_was_killed_is_told_and_costs_nothing_else(caplog):
    async with HostProcess(HostProcessConfig()).running(keep=False):
        os.kill(guard := only_guard(os.getpid()), signal.SIGKILL)
        with trio.fail_after(20):
            while is_guard(guard):  # noqa: ASYNC110  # nobody tells
                await trio.sleep(0.01)
        await trio.sleep(0.05)

    assert "had ended early" in caplog.text


async def test_a_run_without_a_guard_goes_on_and_says_what_to_do(monkeypatch, caplog):
    monkeypatch.setattr(sys, "executable", "/no/such/python")

    async with HostProcess(HostProcessConfig()).running(keep=False):
        assert guards(os.getpid()) == []

    assert "no guard for this run" in caplog.text
    assert "AGENTCOMPASS_GUARD=" in caplog.text
    assert _guard._ends == set()


async def test_the_fake_needs_no_guard():
    async with FAKE.make().running(keep=False):
        assert guards(os.getpid()) == []
