"""What became of one attempt (result.json), and what the attempts of a task share (task.json)."""

from collections.abc import Mapping
from typing import Any, Literal, get_args

import attrs

from agentcompass.errors import Severity
from agentcompass.records.issue import Issue, highest_severity
from agentcompass.records.request import AttemptPlan
from agentcompass.records.task import RunStatus

TASK_SCHEMA = "agentcompass.task.v3"


@attrs.frozen(kw_only=True)
class AttemptResult:
    """result.json; the fields are exactly these, in this order (docs/run-directory.md).

    `status` is one of `RunStatus`. `meta` holds `benchmark` and `harness`, emptied of what is
    empty; `retry_count` counts the executions after the first.
    """

    status: str = attrs.field(
        default="completed", validator=attrs.validators.in_(get_args(RunStatus))
    )
    metrics: Mapping[str, bool | float] = attrs.field(factory=dict)
    final_answer: Any = None
    trajectory: Mapping[str, Any] = attrs.field(factory=dict)
    issues: tuple[Issue, ...] = ()
    artifacts: Mapping[str, Any] = attrs.field(factory=dict)
    analysis_result: Mapping[str, Any] = attrs.field(factory=dict)
    meta: Mapping[str, Any] = attrs.field(factory=dict)
    retry_count: int = attrs.field(default=0, validator=attrs.validators.ge(0))

    @property
    def severity(self) -> Severity | Literal[""]:
        """The heaviest severity among the issues, or an empty string."""
        return highest_severity(self.issues)

    @property
    def succeeded(self) -> bool:
        """Whether the attempt solved its task, which under strategy `pass` ends it."""
        return self.severity != "fatal" and self.metrics.get("correct") is True


def severity_of(results: Mapping[int, AttemptResult]) -> Severity | Literal[""]:
    """The heaviest severity in any of a task's attempts."""
    return highest_severity(issue for result in results.values() for issue in result.issues)


@attrs.frozen(kw_only=True)
class TaskHeader:
    """What the attempts of one task share."""

    task_id: str
    category: str | None = None
    ground_truth: Any = None
    attempt_plan: AttemptPlan = AttemptPlan()


def attempt_name(number: int) -> str:
    """The folder of an attempt, below its task's."""
    return f"attempt-{number}"


@attrs.frozen(kw_only=True)
class TaskIndex:
    """task.json: attempt numbers, as text, to their folders.

    Until the task is published, the record ends there.
    """

    schema_version: str = TASK_SCHEMA
    task_id: str
    attempts: Mapping[str, str]


@attrs.frozen(kw_only=True)
class PublishedTask(TaskIndex):
    """task.json of a task whose attempts are all done."""

    category: str | None
    ground_truth: Any
    attempt_plan: AttemptPlan
