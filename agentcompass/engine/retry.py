"""Whether an attempt is executed once more, from which point, and after how long. Pure."""

import re
from collections.abc import Sequence
from typing import Literal

import attrs

from agentcompass.records.issue import Issue
from agentcompass.records.request import ExecutionOptions

RetryScope = Literal["attempt", "evaluate"]


@attrs.frozen(kw_only=True)
class Retry:
    """A decision to go on: `stage` and `reason` are of the issue that `matched_pattern` matched."""

    scope: RetryScope
    stage: str
    matched_pattern: str
    reason: str = attrs.field(default="", eq=False)


@attrs.frozen(kw_only=True)
class RetryPolicy:
    """FATAL always matches, ERROR by message or code, warnings never; one budget per attempt."""

    max_retries: int = 0
    patterns: tuple[re.Pattern[str], ...] = ()
    min_delay_seconds: float = 5.0
    max_delay_seconds: float = 60.0

    def decide(self, issues: Sequence[Issue], *, used: int, may_rescore: bool) -> Retry | None:
        """The next retry, or None. `may_rescore`: the agent's work can be scored again alone."""
        if used >= self.max_retries:
            return None
        if may_rescore:
            scoring = [issue for issue in issues if issue.phase == "evaluate"]
            if found := self._match(scoring):
                return _retry("evaluate", *found)
        if found := self._match(issues):
            return _retry("attempt", *found)
        return None

    def backoff(self, retry: int) -> float:
        """The longest wait before retry number `retry` (from 1), in seconds: doubling, capped."""
        doublings = min(retry - 1, 60)  # beyond this every cap is reached and floats overflow
        return min(self.min_delay_seconds * 2.0**doublings, self.max_delay_seconds)

    def _match(self, issues: Sequence[Issue]) -> tuple[Issue, str] | None:
        for issue in issues:
            if issue.severity == "fatal":
                return issue, "fatal"
        for pattern in self.patterns:
            for issue in issues:
                if issue.severity == "error" and _matches(pattern, issue):
                    return issue, pattern.pattern
        return None


def _retry(scope: RetryScope, issue: Issue, pattern: str) -> Retry:
    return Retry(scope=scope, stage=issue.phase, matched_pattern=pattern, reason=issue.text)


def _matches(pattern: re.Pattern[str], issue: Issue) -> bool:
    return bool(pattern.search(issue.message) or pattern.search(issue.code))


def retry_policy(execution: ExecutionOptions) -> RetryPolicy:
    """The policy that the execution options ask for; a null or empty list retries FATAL alone."""
    return RetryPolicy(
        max_retries=execution.max_retries,
        patterns=tuple(re.compile(text) for text in execution.retry_pattern_list or ()),
        min_delay_seconds=execution.retry_min_delay_seconds,
        max_delay_seconds=execution.retry_max_delay_seconds,
    )
