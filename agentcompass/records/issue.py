"""A recorded fault, and what the faults of an attempt say together."""

from collections.abc import Iterable
from typing import Literal, get_args

import attrs

from agentcompass.errors import Severity

IssuePhase = Literal["setup", "run", "collect", "evaluate", "cleanup"]

_RANK = {"": 0, "warning": 1, "error": 2, "fatal": 3}


def _text(_instance: object, attribute: "attrs.Attribute[str]", value: str) -> None:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"an issue's {attribute.name} has to be text, and not empty")


@attrs.frozen(kw_only=True)
class Issue:
    """A fault with its weight: `fatal` voids the task's score, `error` and `warning` are noted."""

    severity: Severity = attrs.field(validator=attrs.validators.in_(get_args(Severity)))
    phase: IssuePhase = attrs.field(validator=attrs.validators.in_(get_args(IssuePhase)))
    code: str = attrs.field(validator=_text)
    message: str = attrs.field(validator=_text)

    @property
    def text(self) -> str:
        """The issue in one line, but for its severity."""
        return f"{self.phase} {self.code}: {self.message}"


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
