"""A folder in Harbor's task format as a TaskSpec; what is wrong with it is that task's fault."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from agentcompass.benchmarks import _task_spec
from agentcompass.benchmarks._context import COMPOSE_FILES, DOCKERFILE, dockerfile_workdir
from agentcompass.benchmarks._host_variables import resolve
from agentcompass.benchmarks._selection import as_utf8
from agentcompass.benchmarks._task_toml import NAME, TaskToml, TaskTomlInvalid, parse_task_toml
from agentcompass.errors import UsageError
from agentcompass.records.environment import EnvironmentSetup
from agentcompass.records.task import TaskSpec

INSTRUCTION, TEST_SCRIPT = "instruction.md", "tests/test.sh"

# A line that data sets put in front, so that training data can be searched for its GUID.
_CANARY = re.compile(r"(?:<!--|#).*canary.*[0-9a-f]{8}-[0-9a-f]{4}-.*", re.IGNORECASE)


def find_tasks(root: Path) -> list[Path]:
    """The task folders right below `root`, sorted by name, or `root` itself if it is one.

    A folder is a task where it has a task.toml, or an instruction.md that lacks one; hidden folders
    are not. Raises `UsageError` where there is no task, or a name that cannot be an id.
    """
    root = root.resolve()
    try:
        if _is_task(root):
            return [root]
        folders = sorted(entry for entry in root.iterdir() if not entry.name.startswith("."))
        found = [folder for folder in folders if _is_task(folder)]
    except OSError as error:
        raise UsageError(f"no tasks: the folder {root} cannot be read: {error.strerror}") from error
    if not found:
        raise UsageError(f"no tasks in {root}: looked there for folders with a {NAME}")
    if odd := [folder.name for folder in found if folder.name != folder.name.strip()]:
        raise UsageError(f"task folders in {root} have white space around their names: {odd}")
    return found


def find_replies(root: Path) -> Path | None:
    """The replies for the model `replay` that a folder of tasks ships, if it does. Blocking."""
    replies = root / "replies.jsonl"
    try:
        return replies if replies.is_file() else None
    except OSError:  # said by `find_tasks`, which cannot read the folder either
        return None


def _is_task(folder: Path) -> bool:
    return (folder / NAME).is_file() or (folder / INSTRUCTION).is_file()


def load_task(folder: Path, host: Mapping[str, str]) -> TaskSpec:
    """One task; `host` has the variables that its `${VAR}` refer to. Blocking.

    `TaskSpec.metadata` has, where they are there: task_dir, environment_dir, tests_dir and
    solution_dir (paths on the host), verifier_env and solution_env (references resolved),
    agent_user and verifier_user, graded, and metadata as the task.toml has it.
    """
    return _Reader(folder, host).read()


@attrs.define
class _Reader:
    """Reads one folder and notes every fault that it meets."""

    folder: Path
    host: Mapping[str, str]
    faults: list[str] = attrs.field(factory=list)
    warnings: list[str] = attrs.field(factory=list)

    def read(self) -> TaskSpec:
        toml = self._toml()
        spec = TaskSpec(
            task_id=as_utf8(self.folder.name),
            instruction=self._instruction(),
            category=toml.category,
            metadata=self._metadata(toml),
            setup=self._setup(toml),
            resources=_task_spec.resources(toml),
            network_policy=_task_spec.policy(toml.environment),
            run_network_policy=_task_spec.policy(toml.agent),
            verifier_network_policy=_task_spec.policy(toml.verifier),
            evaluation_mode="fresh" if toml.verifier.is_separate else None,
            env_variables=self._env("environment", toml.environment.env),
            artifacts=_task_spec.artifacts(toml),
            artifact_collect=_task_spec.collect_commands(toml),
            run_timeout_seconds=toml.agent.timeout_sec,
            evaluation_timeout_seconds=toml.verifier.timeout_sec,
        )
        self._check_support(toml)
        fault = "; ".join(self.faults) or None
        return attrs.evolve(spec, fault=fault, warnings=tuple(self.warnings))

    def _toml(self) -> TaskToml:
        text = self._text(NAME)
        try:
            toml, warnings = parse_task_toml(text)
        except TaskTomlInvalid as error:
            self.faults.append(str(error))
            return TaskToml(metadata={"category": error.category} if error.category else {})
        self.warnings.extend((*warnings, *_task_spec.without_effect(toml)))
        return toml

    def _instruction(self) -> str:
        text = self._text(INSTRUCTION)
        if not text.strip() and (self.folder / INSTRUCTION).is_file():
            self.faults.append(f"{INSTRUCTION} is empty")
        return _without_canary(text)

    def _text(self, name: str) -> str:
        try:
            return (self.folder / name).read_text("utf-8-sig")
        except FileNotFoundError:
            self.faults.append(f"{name} is missing")
        except (OSError, UnicodeDecodeError) as error:
            self.faults.append(f"{name} cannot be read: {error}")
        return ""

    def _setup(self, toml: TaskToml) -> EnvironmentSetup:
        context = self.folder / "environment"
        builds = (context / DOCKERFILE).is_file()
        dockerfile = self._text(f"environment/{DOCKERFILE}") if builds else ""
        return EnvironmentSetup(
            image=toml.environment.docker_image,
            build_context=str(context) if builds else None,
            build_timeout_seconds=toml.environment.build_timeout_sec if builds else None,
            workdir=toml.environment.workdir or _workdir_everywhere(dockerfile),
        )

    def _env(self, section: str, env: Mapping[str, str]) -> dict[str, str]:
        resolved, missing = resolve(env, self.host)
        if missing:
            self.faults.append(
                f"{NAME}.{section}.env: the environment variable {', '.join(missing)} is not set"
            )
        return resolved

    def _metadata(self, toml: TaskToml) -> dict[str, Any]:
        solution_env, missing = resolve(toml.solution.env, self.host)
        if missing:  # a warning only: no harness but the one that runs the solution needs them
            self.warnings.append(
                f"{NAME}.solution.env: the environment variable {', '.join(missing)} is not set"
            )
        folders = {name: self.folder / name for name in ("environment", "tests", "solution")}
        found = {
            "task_dir": str(self.folder),
            **{f"{name}_dir": str(path) for name, path in folders.items() if path.is_dir()},
            "solution_env": solution_env,
            "verifier_env": self._env("verifier", toml.verifier.env),
            "agent_user": toml.agent.user,
            "verifier_user": toml.verifier.user,
            "graded": toml.graded,
            "metadata": _task_spec.plain(toml.metadata),
        }
        return {name: value for name, value in found.items() if value is not None}

    def _check_support(self, toml: TaskToml) -> None:
        if not (self.folder / TEST_SCRIPT).is_file():
            self.faults.append(f"{TEST_SCRIPT} is missing")
        lacking = [*_task_spec.unsupported(toml), *_unsupported_files(self.folder, toml)]
        if lacking:
            self.faults.append(f"not supported yet: {', '.join(lacking)}")


def _workdir_everywhere(dockerfile: str) -> str | None:
    """The Dockerfile's working directory if it is one that a provider has without building it."""
    workdir = dockerfile_workdir(dockerfile)
    return workdir if f"{workdir}/".startswith("/app/") else None


def _unsupported_files(folder: Path, toml: TaskToml) -> Iterator[str]:
    names = [f"environment/{name}" for name in COMPOSE_FILES]
    names.append("trajectory.json")
    if toml.verifier.is_separate:
        names.append(f"tests/{DOCKERFILE}")
    return (name for name in names if (folder / name).is_file())


def _without_canary(text: str) -> str:
    lines = text.splitlines(keepends=True)
    start = 0
    while start < len(lines) and _CANARY.fullmatch(lines[start].strip()):
        start += 1
    return "".join(lines[start:]).lstrip("\r\n") if start else text
