"""Show 4 of the issue: in whatever phase a run is cut off, nothing of it stays on the engine.

One run has a task in each phase, so that a program is started once for all of them.
"""

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
import pytest

from tests.cli.process import call, finish, start
from tests.docker_engine import BOOKWORM, NO_ENGINE, containers, docker
from tests.environments.docker_events import events
from tests.environments.docker_slow import Slow, slow_engine
from tests.whole_runs import write_tasks

pytestmark = [pytest.mark.docker, pytest.mark.slow, NO_ENGINE]

# Each container of it has a volume without a name.
IMAGE = "agentcompass-test:volume"
# What a task is held up by in its phase: an answer of the engine, or a command of its own. To
# close is only the last one's turn then.
HELD = {
    "start": '"agentcompass.task": "start"',
    "prepare": r"prepare\.txt",
    "close": r"^DELETE \S*/containers/",
}
COMMANDS = {"run": "run_harness", "collect": "collect_artifacts", "evaluate": "evaluate"}
PHASES = {*HELD, *COMMANDS}
STALLS = '[ "$STALL" = yes ] && sleep 60\n'
SECONDS = 60


def task(phase: str) -> dict[str, str]:
    """One that is held up in its phase while STALL says so."""
    stalls = {at: STALLS if at == phase else "" for at in COMMANDS}
    return {
        "task.toml": "schema_version = \"1.4\"\n[[verifier.collect]]\ncommand = '''\n"
        f"{stalls['collect']}true'''\n",
        f"environment/{phase}.txt": "data\n",
        "solution/solve.sh": stalls["run"] + "echo > /logs/artifacts/a\n",
        "tests/test.sh": stalls["evaluate"] + "echo 1 > /logs/verifier/reward.txt\n",
    }


@pytest.fixture(scope="module", autouse=True)
def _image() -> None:
    text = f"FROM {BOOKWORM}\nVOLUME /volume\n".encode()
    subprocess.run(["docker", "build", "--tag", IMAGE, "-"], input=text, check=True, timeout=60)


@attrs.frozen(kw_only=True)
class Run:
    """A run with a task on its way to each phase."""

    folder: Path
    engine: Slow
    process: "subprocess.Popen[bytes]"

    def come(self) -> set[str]:
        """The phases in which a task is, or was."""
        found = set(self.engine.held)
        for path in self.folder.glob("results/*/*/progress.jsonl"):
            # The last line may be half there.
            for line in path.read_text().splitlines(keepends=True):
                event = json.loads(line) if line.endswith("\n") else {"task_id": None}
                if event["task_id"] in COMMANDS and COMMANDS[event["task_id"]] == event["phase"]:
                    found.add(event["task_id"])
        return found

    def wait_in_every_phase(self) -> None:
        ends_at = time.monotonic() + SECONDS
        while missing := PHASES - self.come():
            assert time.monotonic() < ends_at, f"{missing} were not reached"
            assert self.process.poll() is None, finish(self.process).err
            time.sleep(0.02)

    def ended(self) -> int:
        """Its exit code; a busy machine may take long."""
        self.process.wait(timeout=2 * SECONDS)
        return finish(self.process).code

    def left(self) -> list[object]:
        """What there still is of it; this package makes no network."""
        assert docker("network", "ls", "--quiet", "--filter=label=agentcompass.run") == ""
        names = [
            name
            for directory in self.folder.glob("results/*/*")
            for name in containers(directory=str(directory))
        ]
        return [*names, *self.folder.glob("results/*/*/.env-resources/*.json")]


def arguments(folder: Path, stall: str, *more: str) -> list[str]:
    """A run of such tasks, whose containers have helpers as well."""
    params = {
        "image": IMAGE,
        "pull": "never",
        "dns": ["192.0.2.53"],
        "network_policy": {"network_mode": "allowlist", "allowed_hosts": ["*.example.test"]},
        "env": {"STALL": stall},
    }
    return [
        *("run", "task_directory", "oracle", "none", "--env", "docker", "--progress", "plain"),
        *("--benchmark-params", json.dumps({"path": str(folder / "tasks")})),
        *("--env-params", json.dumps(params), *more),
    ]


@contextmanager
def running(folder: Path, *more: str, seconds: float = SECONDS) -> Iterator[Run]:
    """Such a run; what the engine holds up is so for `seconds`."""
    write_tasks(folder / "tasks", {phase: task(phase) for phase in PHASES})
    with slow_engine(HELD, seconds) as engine:
        extra = {"DOCKER_HOST": engine.host}
        process = start(*arguments(folder, "yes", *more), toys=folder, cwd=folder, **extra)
        try:
            yield Run(folder=folder, engine=engine, process=process)
        finally:
            process.kill()


def still_there(volumes: set[str]) -> set[str]:
    return volumes & set(docker("volume", "ls", "--quiet").split())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_nothing_in_any_phase(tmp_path, number):
    with events(tmp_path) as seen, running(tmp_path) as run:
        run.wait_in_every_phase()
        run.process.send_signal(number)
        time.sleep(1)  # cleanup begins while the engine has not answered
        run.engine.stop()
        code = run.ended()

    assert code == 128 + number
    assert seen.volumes(), "the containers had none, which then cannot stay"
    assert run.left() == []
    assert still_there(seen.volumes()) == set()


def time_out(folder: Path, seconds: int) -> set[str]:
    """The phases in which tasks were when their time was over; nothing is left of any."""
    limit = f"--timeout-seconds={seconds}"
    with events(folder) as seen, running(folder, limit, seconds=seconds + 1) as run:
        code = run.ended()
        come = run.come()

    assert code == 124
    assert run.left() == []
    assert still_there(seen.volumes()) == set()
    return come


def test_a_request_timeout_leaves_nothing_in_any_phase(tmp_path):
    if time_out(tmp_path / "soon", 12) != PHASES:  # on a busy machine
        assert time_out(tmp_path / "later", 45) == PHASES


def test_what_kill_9_leaves_in_any_phase_is_closed_and_the_run_is_finished(tmp_path):
    with events(tmp_path) as seen, running(tmp_path) as run:
        run.wait_in_every_phase()
        run.process.kill()
        run.ended()
        time.sleep(0.5)  # what the engine was still creating when its run was killed
        listed = json.loads(call("env", "list", ".", toys=tmp_path, cwd=tmp_path).out)
        closed = call("env", "close", ".", "--all", toys=tmp_path, cwd=tmp_path)

    assert {entry["in_use"] for entry in listed} == {False}
    assert {entry["task_id"] for entry in listed} == PHASES
    assert closed.code == 0, closed.err
    assert run.left() == []
    assert still_there(seen.volumes()) == set()

    again = start(*arguments(tmp_path, "", "--reuse"), toys=tmp_path, cwd=tmp_path)
    again.wait(timeout=2 * SECONDS)
    ended = finish(again)
    assert ended.code == 0, ended.err
    assert "6 of 6 tasks" in ended.err, ended.err
    assert run.left() == []
