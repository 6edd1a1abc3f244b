"""The benchmark `task_directory`: a folder of tasks in Harbor's format."""

from pathlib import Path
from typing import ClassVar

import attrs

from agentcompass.benchmarks._harbor import HarborBenchmark, HarborConfig


@attrs.frozen(kw_only=True)
class TaskDirectoryConfig(HarborConfig):
    """Where the tasks are, and how they are scored."""

    path: str = attrs.field(
        metadata={
            "help": "The folder that holds task folders (task.toml, instruction.md, tests/test.sh,"
            " ...), or is one; relative to where the command runs."
        }
    )

    @path.validator
    def _usable(self, _attribute: object, value: str) -> None:
        if not value.strip() or "\0" in value:
            raise ValueError("path is empty or has a NUL character")
        try:
            self.root()
        except RuntimeError as error:  # the home of a user that is not there
            raise ValueError(f"path {value!r}: {error}") from error

    def root(self) -> Path:
        """The folder, `~` expanded."""
        return Path(self.path).expanduser()


class TaskDirectory(HarborBenchmark):
    """Any folder of tasks; the format and its limits are in docs/benchmarks.md."""

    id: ClassVar[str] = "task_directory"
    description: ClassVar[str] = (
        "A folder of tasks in Harbor's format, each scored by its own tests."
    )
    Config: ClassVar[type[TaskDirectoryConfig]] = TaskDirectoryConfig

    def __init__(self, config: TaskDirectoryConfig) -> None:
        super().__init__(config, config.root())
