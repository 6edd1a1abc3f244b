"""A folder in Harbor's task format as a TaskSpec; what is wrong with it is that task's fault."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from agentcompass.benchmarks import _task_spec
from agentcompass.benchmarks._context import COMPOSE_FILES, DOCKERFILE, dockerfile_workdir
from agentcompass.benchmarks._host_variables import resolve, secrets_of
from agentcompass.benchmarks._selection import as_utf8
from agentcompass.benchmarks._step_folder import TEST_SCRIPT, StepReader
from agentcompass.benchmarks._steps import Step, total_seconds
from agentcompass.benchmarks._task_toml import NAME, TaskToml, TaskTomlInvalid, parse_task_toml
from agentcompass.benchmarks._task_toml_sections import VERIFIER_SECONDS
from agentcompass.benchmarks._verifier_setup import brings_tests, verifier_setup
from agentcompass.errors import UsageError
from agentcompass.records.environment import EnvironmentSetup
from agentcompass.records.task import TaskSpec

INSTRUCTION = "instruction.md"

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
    agent_user and verifier_user, healthcheck and verifier_healthcheck, tests_in_image (the
    verifier's image may have the tests), steps (as `_steps` has them) and reward_strategy,
    host_secrets (credentials that were referred to), graded, and metadata as the task.toml has it.
    """
    return _Reader(folder, host).read()


@attrs.define
class _Reader:
    """Reads one folder and notes every fault that it meets."""

    folder: Path
    host: Mapping[str, str]
    secrets: dict[str, str] = attrs.field(factory=dict)
    faults: list[str] = attrs.field(factory=list)
    warnings: list[str] = attrs.field(factory=list)

    def read(self) -> TaskSpec:
        toml = self._toml()
        verifier, own = toml.verifier, toml.verifier.environment
        steps = self._steps(toml)
        spec = TaskSpec(
            task_id=as_utf8(self.folder.name),
            instruction=self._instruction(INSTRUCTION) if not steps else _all_of(steps),
            category=toml.category,
            metadata=self._metadata(toml, steps),
            setup=self._setup(toml),
            evaluation_setup=verifier_setup(verifier, self.folder / "tests"),
            resources=_task_spec.resources(toml.environment),
            evaluation_resources=None if own is None else _task_spec.resources(own),
            network_policy=_task_spec.policy(toml.environment),
            run_network_policy=_task_spec.policy(toml.agent),
            verifier_network_policy=_task_spec.verifier_policy(verifier),
            evaluation_mode="fresh" if verifier.is_separate else None,
            env_variables=self._env("environment", toml.environment.env),
            evaluation_env_variables=(
                None if own is None else self._env("verifier.environment", own.env)
            ),
            artifacts=_task_spec.artifacts(toml),
            artifact_collect=_task_spec.collect_commands(verifier),
            run_timeout_seconds=total_seconds(steps) if steps else toml.agent.timeout_sec,
            evaluation_timeout_seconds=verifier.timeout_sec or VERIFIER_SECONDS,
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

    def _steps(self, toml: TaskToml) -> list[Step]:
        reader = StepReader(folder=self.folder, toml=toml, host=self.host)
        self.faults.extend(reader.faults())
        for step in toml.steps:
            self.secrets.update(secrets_of(step.verifier.env, self.host))
        return [
            reader.read(step, self._instruction(f"steps/{step.name}/{INSTRUCTION}"))
            for step in toml.steps
        ]

    def _instruction(self, name: str) -> str:
        text = self._text(name)
        if not text.strip() and (self.folder / name).is_file():
            self.faults.append(f"{name} is empty")
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
        self.secrets.update(secrets_of(env, self.host))
        if missing:
            self.faults.append(
                f"{NAME}.{section}.env: the environment variable {', '.join(missing)} is not set"
            )
        return resolved

    def _metadata(self, toml: TaskToml, steps: Sequence[Step]) -> dict[str, Any]:
        own, tests = toml.verifier.environment, self.folder / "tests"
        folders = {name: self.folder / name for name in ("environment", "tests", "solution")}
        check, own_check = toml.environment.healthcheck, (own or toml.environment).healthcheck
        found = {
            "task_dir": str(self.folder),
            **{f"{name}_dir": str(path) for name, path in folders.items() if path.is_dir()},
            "solution_env": self._solution_env(toml),
            "verifier_env": self._env("verifier", toml.verifier.env),
            "agent_user": toml.agent.user,
            "verifier_user": toml.verifier.user,
            "healthcheck": check and attrs.asdict(check),
            "verifier_healthcheck": own_check and attrs.asdict(own_check),
            "tests_in_image": brings_tests(toml.verifier, tests) or None,
            "steps": [step.record for step in steps] or None,
            "reward_strategy": toml.multi_step_reward_strategy,
            "host_secrets": self.secrets or None,
            "graded": toml.graded,
            "metadata": _task_spec.plain(toml.metadata),
        }
        return {name: value for name, value in found.items() if value is not None}

    def _solution_env(self, toml: TaskToml) -> dict[str, str]:
        resolved, missing = resolve(toml.solution.env, self.host)
        self.secrets.update(secrets_of(toml.solution.env, self.host))
        if missing:  # a warning only: no harness but the one that runs the solution needs them
            self.warnings.append(
                f"{NAME}.solution.env: the environment variable {', '.join(missing)} is not set"
            )
        return resolved

    def _check_support(self, toml: TaskToml) -> None:
        tests = self.folder / "tests"
        if not (toml.steps or brings_tests(toml.verifier, tests) or (tests / "test.sh").is_file()):
            self.faults.append(f"{TEST_SCRIPT} is missing")
        lacking = [*_task_spec.unsupported(toml), *_unsupported_files(self.folder, toml)]
        if lacking:
            self.faults.append(f"not supported: {', '.join(lacking)}")


def _all_of(steps: Sequence[Step]) -> str:
    return "\n\n".join(f"Step {step.name}:\n\n{step.instruction}" for step in steps)


def _workdir_everywhere(dockerfile: str) -> str | None:
    """The Dockerfile's working directory if it is one that a provider has without building it."""
    workdir = dockerfile_workdir(dockerfile)
    return workdir if f"{workdir}/".startswith("/app/") else None


def _unsupported_files(folder: Path, toml: TaskToml) -> Iterator[str]:
    for name in COMPOSE_FILES:
        if (folder / "environment" / name).is_file():
            yield f"environment/{name} (a task that is more than one container)"
        if toml.verifier.is_separate and (folder / "tests" / name).is_file():
            yield f"tests/{name} (a verifier that is more than one container)"
    for place in ("", *(f"steps/{step.name}/" for step in toml.steps)):
        if (folder / place / "trajectory.json").is_file():
            yield f"{place}trajectory.json (a conversation to begin with)"


def _without_canary(text: str) -> str:
    lines = text.splitlines(keepends=True)
    start = 0
    while start < len(lines) and _CANARY.fullmatch(lines[start].strip()):
        start += 1
    return "".join(lines[start:]).lstrip("\r\n") if start else text
