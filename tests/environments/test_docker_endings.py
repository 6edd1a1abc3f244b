"""Show 4 of the issue: in whatever phase a run is cut off, nothing of it stays on the engine."""

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import attrs
import pytest

from tests.cli.process import Ended, call, finish, start
from tests.docker_engine import BOOKWORM, NO_ENGINE, containers, docker
from tests.environments.docker_events import events
from tests.environments.docker_slow import Slow, slow_engine
from tests.whole_runs import write_tasks

pytestmark = [pytest.mark.docker, pytest.mark.slow, NO_ENGINE]

# Each container of it has a volume without a name.
IMAGE = "agentcompass-test:volume"
# What a phase is held up by: an answer of the engine, or a command of the task.
HELD = {
    "start": r"POST \S*/containers/create",
    "prepare": r"PUT \S*/archive\?path=/app",
    "close": r"DELETE \S*/containers/",
}
COMMANDS = {"run": "run_harness", "collect": "collect_artifacts", "evaluate": "evaluate"}
PHASES = ("start", "prepare", "run", "collect", "evaluate", "close")
STALLS = '[ "$STALL" = {} ] && sleep 60\n'
TASK = {
    "task.toml": "schema_version = \"1.4\"\n[[verifier.collect]]\ncommand = '''\n"
    f"{STALLS.format('collect')}true'''\n",
    "environment/data.txt": "data\n",
    "solution/solve.sh": STALLS.format("run") + "echo > /logs/artifacts/a\n",
    "tests/test.sh": STALLS.format("evaluate") + "echo 1 > /logs/verifier/reward.txt\n",
}


@pytest.fixture(scope="module", autouse=True)
def _image() -> None:
    text = f"FROM {BOOKWORM}\nVOLUME /volume\n".encode()
    subprocess.run(["docker", "build", "--tag", IMAGE, "-"], input=text, check=True, timeout=60)


@attrs.frozen(kw_only=True)
class Run:
    """One run in a folder of its own, on its way to `phase`."""

    phase: str
    folder: Path
    engine: Slow | None
    process: "subprocess.Popen[bytes]"

    def has_come(self) -> bool:
        """Whether it is in its phase, or was."""
        if self.engine is not None:
            return self.engine.is_held.is_set()
        event = f'"{COMMANDS[self.phase]}"'
        return any(event in path.read_text() for path in self.folder.glob("*/*/*/progress.jsonl"))

    def containers(self) -> list[str]:
        return [
            name
            for directory in self.folder.glob("results/*/*")
            for name in containers(directory=str(directory))
        ]

    def journal(self) -> list[Path]:
        return sorted(self.folder.glob("results/*/*/.env-resources/*.json"))


def arguments(folder: Path, stall: str, *more: str) -> list[str]:
    """A run of one task, whose container has a helper as well."""
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
def runs(
    root: Path, *more: str, seconds: float, phases: Iterable[str] = PHASES
) -> Iterator[list[Run]]:
    """One run for each phase, all at once; what the engine holds up is so for `seconds`."""
    with ExitStack() as stack:
        made = []
        for phase in phases:
            folder = root / phase
            write_tasks(folder / "tasks", {"one": TASK})
            engine, extra = None, {}
            if phase in HELD:
                engine = stack.enter_context(slow_engine(HELD[phase], seconds))
                extra = {"DOCKER_HOST": engine.host}
            process = start(*arguments(folder, phase, *more), toys=folder, cwd=folder, **extra)
            stack.callback(process.kill)
            made.append(Run(phase=phase, folder=folder, engine=engine, process=process))
        yield made


def as_they_come(made: list[Run], act: Callable[[Run], object]) -> None:
    """Do something to each run once it is in its phase."""
    waiting, ends_at = list(made), time.monotonic() + 60
    while waiting:
        assert time.monotonic() < ends_at, f"{[run.phase for run in waiting]} were not reached"
        for run in [run for run in waiting if run.has_come()]:
            assert run.process.poll() is None, finish(run.process).err
            act(run)
            waiting.remove(run)
        time.sleep(0.01)


def ended(processes: Mapping[str, "subprocess.Popen[bytes]"]) -> Mapping[str, Ended]:
    """How each ended; six at once may take long on a busy machine."""
    for process in processes.values():
        process.wait(timeout=120)
    return {phase: finish(process) for phase, process in processes.items()}


def processes(made: Iterable[Run]) -> Mapping[str, "subprocess.Popen[bytes]"]:
    return {run.phase: run.process for run in made}


def left(made: list[Run]) -> dict[str, object]:
    """What there still is of each run; this package makes no network."""
    assert docker("network", "ls", "--quiet", "--filter=label=agentcompass.run") == ""
    found = {run.phase: [*run.containers(), *run.journal()] for run in made}
    return {phase: names for phase, names in found.items() if names}


def still_there(volumes: set[str]) -> set[str]:
    return volumes & set(docker("volume", "ls", "--quiet").split())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_nothing_in_any_phase(tmp_path, number):
    with events(tmp_path) as seen, runs(tmp_path, seconds=1) as made:
        as_they_come(made, lambda run: run.process.send_signal(number))
        codes = {phase: end.code for phase, end in ended(processes(made)).items()}

    assert codes == dict.fromkeys(PHASES, 128 + number)
    assert seen.volumes(), "the containers had none, which then cannot stay"
    assert left(made) == {}
    assert still_there(seen.volumes()) == set()


def time_out(root: Path, seconds: int, phases: Iterable[str]) -> set[str]:
    """The phases in which the runs were when their time was over; nothing is left of any."""
    holds = seconds + 4
    with (
        events(root) as seen,
        runs(root, f"--timeout-seconds={seconds}", seconds=holds, phases=phases) as made,
    ):
        codes = {phase: end.code for phase, end in ended(processes(made)).items()}

    assert set(codes.values()) == {124}, codes
    assert left(made) == {}
    assert still_there(seen.volumes()) == set()
    return {run.phase for run in made if run.has_come()}


def test_a_request_timeout_leaves_nothing_in_any_phase(tmp_path):
    come = time_out(tmp_path / "soon", 6, PHASES)
    if missing := set(PHASES) - come:  # on a busy machine
        come |= time_out(tmp_path / "later", 30, missing)

    assert come == set(PHASES)


def test_what_kill_9_leaves_in_any_phase_is_closed_and_the_run_is_finished(tmp_path):
    with events(tmp_path) as seen, runs(tmp_path, seconds=1) as made:
        as_they_come(made, lambda run: run.process.kill())
        ended(processes(made))
        time.sleep(0.5)  # what the engine was still creating when its run was killed
        listed = json.loads(call("env", "list", ".", toys=tmp_path, cwd=tmp_path).out)
        closed = call("env", "close", ".", "--all", toys=tmp_path, cwd=tmp_path)

    assert {entry["in_use"] for entry in listed} == {False}
    assert len({entry["run_dir"] for entry in listed}) == len(PHASES)
    assert closed.code == 0, closed.err
    assert left(made) == {}
    assert still_there(seen.volumes()) == set()

    again = {
        run.phase: start(*arguments(run.folder, "", "--reuse"), toys=run.folder, cwd=run.folder)
        for run in made
    }
    for phase, end in ended(again).items():
        assert end.code == 0, (phase, end.err)
        assert "1 of 1 tasks" in end.err, (phase, end.err)
    assert left(made) == {}
