"""task.toml of Harbor's task format, schemas 1.0 to 1.4, as strict frozen records."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Literal, cast, get_args

import attrs

from agentcompass.benchmarks._task_toml_sections import (
    AgentSection,
    ArtifactEntry,
    EnvironmentSection,
    SolutionSection,
    StepSection,
    VerifierSection,
)
from agentcompass.benchmarks._task_toml_spellings import in_current_spelling
from agentcompass.errors import RecordCorrupt
from agentcompass.records.convert import structure_record

NAME = "task.toml"
_NEWEST_MINOR = 4


class TaskTomlInvalid(ValueError):
    """A task.toml cannot be used; every fault is named with its path.

    `category` is that of the task where it can be read all the same.
    """

    def __init__(self, faults: str, *, category: str | None = None) -> None:
        super().__init__(faults)
        self.category = category


def _schema_version(_instance: object, _attribute: object, value: str) -> None:
    if not re.fullmatch(r"1\.\d{1,4}", value):
        raise ValueError(f"schema_version {value!r} is not known; known: 1.0 to 1.{_NEWEST_MINOR}")


def _metadata(_instance: object, _attribute: object, value: Mapping[str, Any]) -> None:
    for key, kind, name in (("category", str, "text"), ("graded", bool, "true or false")):
        if key in value and type(value[key]) is not kind:
            raise ValueError(f"metadata.{key}: expected {name}, got {value[key]!r:.40}")


def _distinct(_instance: object, _attribute: object, value: tuple[StepSection, ...]) -> None:
    counts = Counter(step.name.casefold() for step in value)
    if twice := [name for name, times in counts.items() if times > 1]:
        raise ValueError(f"steps: there is more than one step {', '.join(map(repr, twice))}")


@attrs.frozen(kw_only=True)
class TaskToml:
    """A whole task.toml. [metadata] is free, but for `category` and our own `graded`."""

    schema_version: str = attrs.field(default="1.4", validator=_schema_version)
    source: str | None = None
    task: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] = attrs.field(factory=dict, validator=_metadata)
    agent: AgentSection = AgentSection()
    verifier: VerifierSection = VerifierSection()
    environment: EnvironmentSection = EnvironmentSection()
    solution: SolutionSection = SolutionSection()
    artifacts: tuple[ArtifactEntry, ...] = ()
    steps: tuple[StepSection, ...] = attrs.field(default=(), validator=_distinct)
    multi_step_reward_strategy: Literal["mean", "final"] | None = None

    @property
    def category(self) -> str | None:
        """What the task's score is grouped by."""
        return self.metadata.get("category")

    @property
    def graded(self) -> bool:
        """Whether rewards are numbers, not only 0 or 1."""
        return bool(self.metadata.get("graded", False))


def parse_task_toml(text: str) -> tuple[TaskToml, tuple[str, ...]]:
    """The records of a task.toml, and what in it is odd or not known here.

    Raises `TaskTomlInvalid`: not TOML, a wrong type, a value out of range, a schema of another
    major version. Older spellings that say the same are read without a remark.
    """
    try:
        raw = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise TaskTomlInvalid(f"{NAME}: {error}") from error
    try:
        current = in_current_spelling(raw)
    except ValueError as error:
        raise TaskTomlInvalid(f"{NAME}.{error}", category=_category(raw)) from error
    warnings = tuple(_unknown_keys(current, TaskToml, NAME))
    try:
        parsed = structure_record(current, TaskToml, source=NAME)
    except RecordCorrupt as error:
        raise TaskTomlInvalid(str(error), category=_category(raw)) from error
    return parsed, (*warnings, *_newer_schema(parsed))


def _category(raw: Mapping[str, Any]) -> str | None:
    metadata = raw.get("metadata")
    category = metadata.get("category") if isinstance(metadata, Mapping) else None
    return category if isinstance(category, str) else None


def _newer_schema(parsed: TaskToml) -> Iterator[str]:
    if int(parsed.schema_version.partition(".")[2]) > _NEWEST_MINOR:
        yield (
            f"{NAME}.schema_version {parsed.schema_version} is newer than 1.{_NEWEST_MINOR}:"
            " what it added is not known here"
        )


def _unknown_keys(raw: Mapping[str, Any], kind: type[Any], path: str) -> Iterator[str]:
    fields = attrs.fields_dict(kind)
    for key, value in raw.items():
        if key not in fields:
            yield f"{path}.{key} is not known and has no effect"
        else:
            yield from _unknown_below(value, fields[key].type, f"{path}.{key}")


def _unknown_below(value: Any, kind: Any, path: str) -> Iterator[str]:
    inner = (get_args(kind) or (kind,))[0]
    if not attrs.has(inner):
        return
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, Mapping):
            yield from _unknown_keys(item, cast("type[Any]", inner), path)
