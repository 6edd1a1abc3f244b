"""A recorded fault, and what the faults of an attempt say together."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal, get_args

import attrs

from agentcompass.errors import Severity

PhaseName = Literal["setup", "run", "collect", "evaluate", "cleanup"]

_RANK = {"": 0, "warning": 1, "error": 2, "fatal": 3}


class IssueSeverity(StrEnum):
    """The severities by name, for those who would rather not write the words."""

    FATAL = "fatal"
    ERROR = "error"
    WARNING = "warning"


class IssuePhase(StrEnum):
    """The phases that an issue can be of, by name."""

    SETUP = "setup"
    RUN = "run"
    COLLECT = "collect"
    EVALUATE = "evaluate"
    CLEANUP = "cleanup"


def _severity(value: Severity | IssueSeverity) -> Severity:
    return value.value if isinstance(value, IssueSeverity) else value


def _phase(value: PhaseName | IssuePhase) -> PhaseName:
    return value.value if isinstance(value, IssuePhase) else value


def _text(_instance: object, attribute: "attrs.Attribute[str]", value: str) -> None:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"an issue's {attribute.name} has to be text, and not empty")


@attrs.frozen(kw_only=True)
class Issue:
    """A fault with its weight: `fatal` voids the task's score, `error` and `warning` are noted."""

    severity: Severity = attrs.field(
        converter=_severity, validator=attrs.validators.in_(get_args(Severity))
    )
    phase: PhaseName = attrs.field(
        converter=_phase, validator=attrs.validators.in_(get_args(PhaseName))
    )
    code: str = attrs.field(validator=_text)
    message: str = attrs.field(validator=_text)

    @property
    def text(self) -> str:
        """The issue in one line, but for its severity."""
        return f"{self.phase} {self.code}: {self.message}"


ExecutionIssue = Issue  # as the other implementation of these run directories calls it


def gravest(issues: Iterable[Issue]) -> Issue | None:
    """The first of the issues of the heaviest severity."""
    return max(issues, key=lambda issue: _RANK[issue.severity], default=None)


def highest_severity(issues: Iterable[Issue]) -> Severity | Literal[""]:
    """The heaviest severity, or an empty string where there is no issue."""
    worst = gravest(issues)
    return "" if worst is None else worst.severity


IssueStatus = Literal["completed", "run_error", "eval_error", "run_error_or_eval_error"]


def status_from_issues(issues: Iterable[Issue]) -> IssueStatus:
    """The attempt status that its issues call for; warnings change nothing."""
    phases = {issue.phase for issue in issues if issue.severity != "warning"}
    if not phases:
        return "completed"
    if phases == {"evaluate"}:
        return "eval_error"
    return "run_error_or_eval_error" if "evaluate" in phases else "run_error"
