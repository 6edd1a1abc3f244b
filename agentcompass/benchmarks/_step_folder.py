"""The folders steps/<name>/ of a task, and what its task.toml says of them, as steps."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs

from agentcompass.benchmarks import _task_spec
from agentcompass.benchmarks._host_variables import resolve
from agentcompass.benchmarks._steps import Step
from agentcompass.benchmarks._task_toml import NAME, TaskToml
from agentcompass.benchmarks._task_toml_sections import VERIFIER_SECONDS, StepSection

TEST_SCRIPT = "tests/test.sh"


@attrs.frozen(kw_only=True)
class StepReader:
    """Reads the steps of one task; `host` has the variables that they refer to. Blocking."""

    folder: Path
    toml: TaskToml
    host: Mapping[str, str]

    def read(self, section: StepSection, instruction: str) -> Step:
        """One step, with what the task says where the step says nothing."""
        here, task = self.folder / "steps" / section.name, self.toml
        verifier_env, _ = resolve({**task.verifier.env, **section.verifier.env}, self.host)
        tests = (self.folder / "tests", here / "tests")
        return Step(
            name=section.name,
            instruction=instruction,
            tests_dirs=tuple(str(tests_dir) for tests_dir in tests if tests_dir.is_dir()),
            workdir_dir=_folder(here / "workdir"),
            solution_dir=_folder(here / "solution"),
            agent_user=section.agent.user or task.agent.user,
            verifier_user=section.verifier.user or task.verifier.user,
            verifier_env=verifier_env,
            run_seconds=section.agent.timeout_sec or task.agent.timeout_sec,
            evaluation_seconds=(
                section.verifier.timeout_sec or task.verifier.timeout_sec or VERIFIER_SECONDS
            ),
            min_reward=section.min_reward,
            healthcheck=section.healthcheck,
            collect=_task_spec.collect_commands(section.verifier),
        )

    def faults(self) -> Iterator[str]:
        """What the steps lack."""
        for section in self.toml.steps:
            here = self.folder / "steps" / section.name
            scripts = (self.folder / TEST_SCRIPT, here / TEST_SCRIPT)
            if not any(script.is_file() for script in scripts):
                yield f"steps/{section.name}/{TEST_SCRIPT} and {TEST_SCRIPT} are missing"
            _, missing = resolve(section.verifier.env, self.host)
            if missing:
                yield (
                    f"{NAME}.steps.{section.name}.verifier.env: the environment variable"
                    f" {', '.join(missing)} is not set"
                )


def _folder(path: Path) -> str | None:
    return str(path) if path.is_dir() else None
