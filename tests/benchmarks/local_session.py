"""A session of real processes in a temporary folder, and a task on its way through it."""

import os
import shutil
import stat
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs
import pytest
import trio

from agentcompass.benchmarks._harbor import HarborBenchmark, HarborConfig
from agentcompass.errors import EvaluationFailed
from agentcompass.records.environment import EnvironmentPlan, ExecResult, NetworkPolicy
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.task import RunResult

# Harbor's folders and the variables that tell commands where they are, by decisions.
MAPPED = {
    "/app": "APP_DIR",
    "/tests": "TESTS_DIR",
    "/logs": "LOGS_DIR",
    "/solution": "SOLUTION_DIR",
}

REWARD = 'echo {} > "${{LOGS_DIR:-/logs}}/verifier/reward.txt"\n'


@attrs.define(eq=False)
class LocalSession:
    """Maps Harbor's folders below `root`; `calls` tells what was asked of it, in order."""

    root: Path
    built_context: bool = False
    image: str | None = None
    calls: list[tuple[str, str]] = attrs.field(factory=list)
    users: list[str | None] = attrs.field(factory=list)
    policies: list[str] = attrs.field(factory=list)

    @property
    def workdir(self) -> str:
        return str(self.root / "app")

    def host(self, path: str) -> Path:
        for folder in MAPPED:
            if path == folder or path.startswith(f"{folder}/"):
                return self.root / path[1:]
        return Path(self.workdir) / path

    async def exec(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout_seconds: float | None = None,
        user: str | None = None,
    ) -> ExecResult:
        self.calls.append(("exec", command if isinstance(command, str) else " ".join(command)))
        self.users.append(user)
        folders = {name: str(self.root / folder[1:]) for folder, name in MAPPED.items()}
        done = await trio.run_process(
            ["bash", "-c", command] if isinstance(command, str) else list(command),
            cwd=self.workdir if cwd is None else cwd,
            env={"PATH": os.environ["PATH"], **folders, **(env or {})},
            stdin=stdin,
            capture_stdout=True,
            capture_stderr=True,
            check=False,
        )
        code = done.returncode if done.returncode >= 0 else 128 - done.returncode
        return ExecResult(
            exit_code=code,
            stdout=done.stdout.decode("utf-8", "replace"),
            stderr=done.stderr.decode("utf-8", "replace"),
        )

    async def upload(self, source: Path, target: str) -> None:
        self.calls.append(("upload", target))
        here = self.host(target)
        here.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, here, symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copy2(source, here)

    async def set_network_policy(self, policy: NetworkPolicy) -> None:
        self.policies.append(policy.network_mode)

    async def read(self, path: str) -> bytes:
        return self.host(path).read_bytes()

    def shell(self, command: str) -> None:
        """What an agent does."""
        folders = {name: str(self.root / folder[1:]) for folder, name in MAPPED.items()}
        subprocess.run(
            ["bash", "-c", command],
            cwd=self.workdir,
            env={**os.environ, **folders},
            check=True,
            timeout=30,
        )

    def files(self) -> set[str]:
        """Every file and link below the root, by its path there."""
        return {
            str(path.relative_to(self.root))
            for path in self.root.rglob("*")
            if not stat.S_ISDIR(path.lstat().st_mode)
        }


def make_task(root: Path, files: Mapping[str, str]) -> Path:
    """A task folder with these files over the least that a task has; None leaves one out."""
    least = {
        "task.toml": 'schema_version = "1.4"\n',
        "instruction.md": "Do it.\n",
        "environment/Dockerfile": "FROM debian:bookworm\nWORKDIR /app\nCOPY . /app\n",
        "tests/test.sh": 'echo 1 > "${LOGS_DIR:-/logs}/verifier/reward.txt"\n',
    }
    for name, text in {**least, **files}.items():
        if text is not None:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
    return root


def a_plan(**fields: object) -> ExecutionPlan:
    """A plan of an attempt of a task on host_process, scored in the same session."""
    plan = ExecutionPlan(
        task_id="t", environment=EnvironmentPlan(id="host_process"), evaluation_mode="reuse"
    )
    return attrs.evolve(plan, **fields)


class Attempt:
    """One task on its way through a session."""

    def __init__(self, root, files, **config):
        make_task(root / "tasks" / "t", files)
        self.benchmark = HarborBenchmark(HarborConfig(**config), root / "tasks")
        self.task = self.benchmark.load_tasks(Path("unused"))[0]
        (root / "session" / "app").mkdir(parents=True)
        self.session = LocalSession(root / "session")
        self.result = RunResult(task_id="t")

    async def prepare(self):
        return await self.benchmark.prepare_task(self.task, self.session, a_plan())

    async def evaluate(self, **plan):
        prepared = await self.prepare()
        await self.score(prepared, **plan)

    async def score(self, prepared, **plan):
        await self.benchmark.prepare_evaluation(self.task, prepared, a_plan(**plan), self.session)
        await self.benchmark.evaluate(
            self.task, prepared, self.result, a_plan(**plan), self.session
        )

    async def refusal(self):
        """The error of an evaluation that gives no verdict."""
        with pytest.raises(EvaluationFailed) as caught:
            await self.evaluate()
        assert self.result.metrics == {}
        assert caught.value.severity == "error"
        return caught.value
