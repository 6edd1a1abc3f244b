"""What counts of an earlier run, as a table, and what stops saved work from being scored."""

import re

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.engine.retry import RetryPolicy
from agentcompass.engine.reuse import Judge, why_not_resumable
from agentcompass.records.artifacts import ArtifactEntry, ArtifactManifest
from agentcompass.records.attempt import AttemptResult
from agentcompass.records.checkpoint import EvaluationCheckpoint
from agentcompass.records.environment import EnvironmentPlan
from agentcompass.records.issue import Issue
from agentcompass.records.metrics import binary_contract
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.request import AttemptPlan
from agentcompass.records.reuse import EarlierAttempt, Verdict
from agentcompass.records.task import ArtifactSpec, PreparedTask, RunResult
from tests import strategies

SCORED = {"correct": False}
RETRYING = RetryPolicy(max_retries=1, patterns=(re.compile("rate limit"),))


def judge(retry: RetryPolicy | None = None, *, may_resume: bool = True) -> Judge:
    policy = retry or RetryPolicy()
    return Judge(contract=binary_contract(), retry=policy, may_resume=may_resume)


def verdict(judge: Judge, found: EarlierAttempt) -> Verdict:
    return judge.judge(found).verdict


def issue(severity: str, phase: str, message: str = "it broke") -> Issue:
    return Issue(severity=severity, phase=phase, code="some_fault", message=message)


def attempt(*issues: Issue, metrics: dict[str, bool] | None = None, status: str = "completed"):
    return AttemptResult(issues=issues, metrics=metrics or {}, status=status)


WARNING = issue("warning", "cleanup")
RUN_ERROR, SCORE_ERROR = issue("error", "run"), issue("error", "evaluate")
RUN_FATAL, SCORE_FATAL = issue("fatal", "run"), issue("fatal", "evaluate")
LIMITED, SCORE_LIMITED = (issue("error", phase, "rate limit") for phase in ("run", "evaluate"))

# result; verdict where work is saved, and where none is
TABLE = [
    pytest.param(None, "resume", "execute", id="not finished"),
    pytest.param(attempt(metrics=SCORED), "keep", "keep", id="wrong answer"),
    pytest.param(attempt(WARNING, metrics=SCORED), "keep", "keep", id="warning"),
    pytest.param(attempt(), "resume", "execute", id="no verdict and no issue"),
    pytest.param(attempt(status="skipped"), "keep", "keep", id="skipped"),
    pytest.param(attempt(RUN_ERROR, metrics=SCORED), "keep", "keep", id="scored ERROR"),
    pytest.param(attempt(RUN_ERROR), "resume", "execute", id="unscored ERROR of the agent"),
    pytest.param(attempt(SCORE_ERROR), "resume", "execute", id="unscored ERROR of the scorer"),
    pytest.param(attempt(metrics={"correct": 7}), "resume", "execute", id="of another kind"),
    pytest.param(attempt(metrics={"old": 1.0}), "resume", "execute", id="undeclared alone"),
    pytest.param(attempt(metrics={**SCORED, "old": 1.0}), "keep", "keep", id="undeclared too"),
    pytest.param(attempt(RUN_FATAL, metrics=SCORED), "execute", "execute", id="FATAL"),
    pytest.param(attempt(SCORE_FATAL), "resume", "execute", id="FATAL of the scorer"),
    pytest.param(attempt(SCORE_FATAL, RUN_FATAL), "execute", "execute", id="FATAL of both"),
]


@pytest.mark.parametrize(("result", "with_work", "without"), TABLE)
def test_an_attempt_counts_once_it_is_complete_and_valid(result, with_work, without) -> None:
    for has_checkpoint, wanted in ((True, with_work), (False, without)):
        found = EarlierAttempt(result=result, has_checkpoint=has_checkpoint)
        assert verdict(judge(), found) == wanted


@pytest.mark.parametrize(("result", "with_work", "without"), TABLE)
def test_without_resuming_saved_work_counts_for_nothing(result, with_work, without) -> None:
    found = EarlierAttempt(result=result, has_checkpoint=True)
    assert verdict(judge(may_resume=False), found) == without


def test_what_the_current_patterns_would_retry_is_done_again() -> None:
    scored = attempt(LIMITED, metrics=SCORED)
    assert verdict(judge(), EarlierAttempt(result=scored, has_checkpoint=True)) == "keep"
    again = judge(RETRYING)
    assert verdict(again, EarlierAttempt(result=scored, has_checkpoint=True)) == "execute"
    assert verdict(again, EarlierAttempt(result=attempt(LIMITED), has_checkpoint=True)) == "execute"
    scoring = attempt(SCORE_LIMITED, metrics=SCORED)
    assert verdict(again, EarlierAttempt(result=scoring, has_checkpoint=True)) == "resume"
    assert verdict(again, EarlierAttempt(result=scoring)) == "execute"
    other = attempt(RUN_ERROR, metrics=SCORED)
    assert verdict(again, EarlierAttempt(result=other)) == "keep"


def test_a_failure_without_classified_issues_is_done_again() -> None:
    failed = EarlierAttempt(result=attempt(metrics=SCORED, status="run_error"), is_classified=False)
    assert verdict(judge(), failed) == "execute"
    good = EarlierAttempt(result=attempt(metrics=SCORED), is_classified=False)
    assert verdict(judge(), good) == "keep"


results = st.builds(
    attrs.evolve,
    strategies.attempt_results,
    metrics=st.sampled_from([{}, {"correct": True}, {"correct": False}]),
)


@given(
    result=st.none() | results,
    has_checkpoint=st.booleans(),
    max_retries=st.integers(0, 2),
    may_resume=st.booleans(),
)
def test_nothing_is_kept_that_is_fatal_or_unscored(
    result: AttemptResult | None, has_checkpoint: bool, max_retries: int, may_resume: bool
) -> None:
    found = EarlierAttempt(result=result, has_checkpoint=has_checkpoint)
    policy = RetryPolicy(max_retries=max_retries, patterns=(re.compile("a"),))
    got = verdict(judge(policy, may_resume=may_resume), found)
    if got == "keep":
        assert result is not None
        assert all(found.severity != "fatal" for found in result.issues)
        assert "correct" in result.metrics or result.status == "skipped"
    if got == "resume":
        assert has_checkpoint
        assert may_resume


@pytest.mark.parametrize(
    ("strategy", "kept", "complete"),
    [
        ("avg", {1: True, 2: True}, False),
        ("avg", {1: True, 2: False, 3: True}, True),
        ("pass", {1: False, 2: True}, True),
        ("pass", {2: True, 3: False}, False),
        ("pass", {1: False, 2: False}, False),
        ("pass", {1: False, 2: False, 3: False}, True),
        ("pass", {}, False),
    ],
)
def test_a_task_is_complete_when_nothing_is_left_to_do(strategy, kept, complete) -> None:
    plan = AttemptPlan(k=3, strategy=strategy)
    results = {number: attempt(metrics={"correct": c}) for number, c in kept.items()}
    assert judge().completes(plan, results) is complete


def saved(**fields: object) -> EvaluationCheckpoint:
    given = {
        "task_id": "t",
        "attempt": 2,
        "source_run_id": "r",
        "source_evaluation_mode": "fresh",
        "run_result": RunResult(task_id="t"),
        "prepared_task": PreparedTask(task_id="t"),
        **fields,
    }
    return EvaluationCheckpoint(**given)


def plan(**fields: object) -> ExecutionPlan:
    given = {"task_id": "t", "environment": EnvironmentPlan(id="P"), "evaluation_mode": "fresh"}
    return ExecutionPlan(**{**given, **fields})


def entry(status: str) -> ArtifactManifest:
    found = ArtifactEntry(source="/app/out", destination="app/out", status=status)
    return ArtifactManifest(directory="details", complete=True, entries=(found,))


WANTS_OUT = {"artifacts": (ArtifactSpec(source="/app/out"),)}


@pytest.mark.parametrize("status", ["collected", "missing", "excluded"])
def test_saved_work_that_covers_the_plan_can_be_scored(status: str) -> None:
    assert why_not_resumable(saved(), plan(), attempt=2) is None
    covered = saved(artifacts=entry(status))
    assert why_not_resumable(covered, plan(**WANTS_OUT), attempt=2) is None


@pytest.mark.parametrize(
    ("checkpoint", "wanted", "reason"),
    [
        (saved(attempt=1), plan(), "attempt 1"),
        (saved(task_id="u"), plan(), "task 'u'"),
        (saved(run_result=RunResult(task_id="u")), plan(), "task 'u'"),
        (saved(prepared_task=PreparedTask(task_id="u")), plan(), "task 'u'"),
        (saved(run_result=RunResult(task_id="t", issues=[RUN_FATAL])), plan(), "had failed"),
        (saved(artifacts=attrs.evolve(entry("collected"), complete=False)), plan(), "not all"),
        (saved(run_completed=False), plan(), "had not finished"),
        (saved(source_evaluation_mode="none"), plan(), "mode 'none'"),
        (saved(), plan(evaluation_mode="reuse"), "mode 'reuse'"),
        (saved(), plan(**WANTS_OUT), "/app/out"),
        (saved(artifacts=entry("not_collected")), plan(**WANTS_OUT), "/app/out"),
    ],
)
def test_saved_work_of_something_else_is_not_scored(checkpoint, wanted, reason) -> None:
    assert reason in (why_not_resumable(checkpoint, wanted, attempt=2) or "")
