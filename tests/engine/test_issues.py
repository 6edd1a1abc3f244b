"""One exception becomes one issue, by where and what it was."""

import pytest

from agentcompass.engine.execution import RunTimeout
from agentcompass.engine.issues import issue_from
from agentcompass.errors import (
    EnvironmentFailed,
    EvaluationFailed,
    HarnessFailed,
    ModelFailed,
    PhaseTimeout,
    TaskInvalid,
)


@pytest.mark.parametrize(
    ("error", "phase", "expected"),
    [
        (EnvironmentFailed("x"), "open_environment", ("fatal", "setup", "setup_failed")),
        (ValueError("x"), "prepare_task", ("fatal", "setup", "setup_failed")),
        (TaskInvalid("x"), "plan", ("fatal", "setup", "task_invalid")),
        (EnvironmentFailed("x"), "run_harness", ("fatal", "run", "environment_failed")),
        (HarnessFailed("x"), "run_harness", ("fatal", "run", "harness_failed")),
        (ValueError("x"), "run_harness", ("fatal", "run", "harness_failed")),
        (TimeoutError("x"), "run_harness", ("error", "run", "harness_failed")),
        (RunTimeout("x"), "run_harness", ("error", "run", "run_failed")),
        (ModelFailed("x"), "run_harness", ("error", "run", "model_failed")),
        (ModelFailed("x", severity="fatal"), "run_harness", ("fatal", "run", "model_failed")),
        (ModelFailed("x", code="model_timeout"), "run_task", ("error", "run", "model_timeout")),
        (PhaseTimeout("x"), "collect_harness_result", ("fatal", "collect", "environment_failed")),
        (EnvironmentFailed("x"), "download_artifacts", ("fatal", "collect", "environment_failed")),
        (
            EnvironmentFailed("x"),
            "evaluate_environment",
            ("fatal", "evaluate", "environment_failed"),
        ),
        (EvaluationFailed("x"), "evaluate", ("error", "evaluate", "evaluate_failed")),
        (ValueError("x"), "evaluate", ("error", "evaluate", "evaluate_failed")),
    ],
)
def test_the_table_of_issues(error: Exception, phase: str, expected: tuple[str, str, str]) -> None:
    issue = issue_from(error, phase=phase)

    assert (issue.severity, issue.phase, issue.code) == expected


def test_the_message_names_the_type_and_has_one_line() -> None:
    assert issue_from(ValueError("one\ntwo"), phase="evaluate").message == "ValueError: one"
    assert issue_from(ValueError(), phase="evaluate").message == "ValueError"


def test_the_status_code_comes_first() -> None:
    issue = issue_from(ModelFailed("slow down", status_code=429), phase="run_harness")

    assert issue.message == "HTTP 429: ModelFailed: slow down"


def test_patterns_match_what_happened_at_the_bottom() -> None:
    try:
        try:
            raise ConnectionError("rate limit reached")
        except ConnectionError as error:
            raise EnvironmentFailed("the sandbox could not be opened") from error
    except EnvironmentFailed as error:
        group = ExceptionGroup("nursery", [ExceptionGroup("inner", [error])])

    message = issue_from(group, phase="open_environment").message

    assert message == (
        "EnvironmentFailed: the sandbox could not be opened <- ConnectionError: rate limit reached"
    )


def test_of_a_group_our_own_error_tells_most() -> None:
    group = ExceptionGroup("two", [ValueError("noise"), HarnessFailed("cause")])

    assert issue_from(group, phase="run_harness").message == "HarnessFailed: cause"


def test_causes_that_go_round_end() -> None:
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one

    assert issue_from(one, phase="evaluate").message == "ValueError: one <- ValueError: two"
