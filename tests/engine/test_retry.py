"""Which issues are retried, from where, and how long the wait is."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.engine.retry import Retry, RetryPolicy, retry_policy
from agentcompass.records.issue import Issue
from agentcompass.records.request import ExecutionOptions


def issue(severity: str, phase: str = "run", message: str = "m", code: str = "c") -> Issue:
    return Issue(severity=severity, phase=phase, code=code, message=message)  # type: ignore[arg-type]


def policy(retries: int = 1, *patterns: str) -> RetryPolicy:
    return RetryPolicy(max_retries=retries, patterns=tuple(map(re.compile, patterns)))


def test_fatal_is_retried_without_any_pattern() -> None:
    retry = policy().decide([issue("error"), issue("fatal", "setup")], used=0, may_rescore=False)

    assert retry == Retry(scope="attempt", stage="setup", matched_pattern="fatal")


@pytest.mark.parametrize("patterns", [None, ()])
def test_null_and_empty_lists_retry_fatal_alone(patterns: tuple[str, ...] | None) -> None:
    made = retry_policy(ExecutionOptions(max_retries=3, retry_pattern_list=patterns))

    assert made.decide([issue("error")], used=0, may_rescore=True) is None
    assert made.decide([issue("fatal")], used=0, may_rescore=True) is not None


@pytest.mark.parametrize(
    ("text", "code"), [("HTTP 429: Rate limit", "c"), ("nothing", "rate_limited")]
)
def test_an_error_is_retried_by_message_or_code(text: str, code: str) -> None:
    retry = policy(1, "(?i)rate.?limit").decide(
        [issue("error", message=text, code=code)], used=0, may_rescore=False
    )

    assert retry is not None
    assert retry.matched_pattern == "(?i)rate.?limit"


def test_a_warning_is_never_retried() -> None:
    assert policy(1, ".").decide([issue("warning")], used=0, may_rescore=True) is None


def test_scoring_is_retried_alone_where_the_agents_work_is_saved() -> None:
    issues = [issue("error", "evaluate", "judge down")]

    assert policy(1, "judge").decide(issues, used=0, may_rescore=True) == Retry(
        scope="evaluate", stage="evaluate", matched_pattern="judge"
    )
    retry = policy(1, "judge").decide(issues, used=0, may_rescore=False)
    assert retry is not None
    assert retry.scope == "attempt"


def test_a_matching_error_of_the_agent_is_retried_from_the_start_after_scoring_went_well() -> None:
    retry = policy(1, "rate").decide(
        [issue("error", "run", "rate limit"), issue("error", "evaluate", "other")],
        used=0,
        may_rescore=True,
    )

    assert retry is not None
    assert retry.scope == "attempt"


def test_the_budget_ends() -> None:
    assert policy(2).decide([issue("fatal")], used=1, may_rescore=False) is not None
    assert policy(2).decide([issue("fatal")], used=2, may_rescore=False) is None


def test_the_backoff_doubles_to_its_cap() -> None:
    assert [policy().backoff(n) for n in range(1, 7)] == [5, 10, 20, 40, 60, 60]


@given(st.integers(1, 10**6), st.floats(0, 1e6), st.floats(0, 1e6))
def test_the_backoff_never_exceeds_its_cap(retry: int, shortest: float, longest: float) -> None:
    """Fails without the bound on the exponent: 2.0**1024 overflows."""
    made = RetryPolicy(min_delay_seconds=shortest, max_delay_seconds=longest)

    assert 0 <= made.backoff(retry) <= longest
