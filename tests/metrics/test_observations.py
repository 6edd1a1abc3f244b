"""What an attempt may report, and what is refused by name."""

import math
from decimal import Decimal

import pytest

from agentcompass.metrics.observations import (
    AttemptObservation,
    TaskObservations,
    check_metrics,
    check_observations,
    observed,
)
from agentcompass.records.attempt import AttemptResult
from agentcompass.records.issue import Issue
from agentcompass.records.metrics import MetricInvalid
from tests.metrics.oracle import BINARY


@pytest.mark.parametrize(
    ("metric", "value", "fault"),
    [
        ("speed", 1.0, "is not declared; declared: built, correct, cost"),
        ("correct", 1, "must be true or false, not 1"),
        ("correct", 1.0, "must be true or false"),
        ("correct", None, "must be true or false"),
        ("cost", True, "must be a finite number, not True"),
        ("cost", math.nan, "must be a finite number, not nan"),
        ("cost", math.inf, "must be a finite number, not inf"),
        pytest.param("cost", 10**5000, "must be a finite number, not a huge integer", id="huge"),
        ("cost", "1", "must be a finite number, not '1'"),
        ("cost", Decimal(1), "must be a finite number"),
    ],
)
def test_a_metric_outside_the_contract_is_refused_by_task_attempt_and_name(metric, value, fault):
    with pytest.raises(MetricInvalid) as caught:
        check_metrics({metric: value}, BINARY, task_id="t1", attempt=2)

    assert str(caught.value).startswith(f"task 't1', attempt 2: metric '{metric}' {fault}")
    assert (caught.value.task_id, caught.value.attempt, caught.value.metric) == ("t1", 2, metric)


def test_declared_metrics_of_their_kind_pass():
    check_metrics({"correct": False, "cost": 3, "built": True}, BINARY, task_id="t", attempt=1)


@pytest.mark.parametrize("number", [0, 3])
def test_an_attempt_outside_the_plan_is_refused(number):
    task = TaskObservations(task_id="t", attempts={number: AttemptObservation()})

    with pytest.raises(MetricInvalid, match=rf"task 't', attempt {number} is not one of 1\.\.2"):
        check_observations([task], BINARY, k=2)


def test_a_task_is_counted_once():
    with pytest.raises(ValueError, match="task 't' is observed twice"):
        check_observations([TaskObservations(task_id="t")] * 2, BINARY, k=1)


def test_what_came_out_alike_is_one_object_for_all_tasks() -> None:
    """Most of 10,000 tasks are solved or not: a mapping for each takes megabytes."""
    first, second = (
        observed(task_id, None, {1: AttemptResult(metrics={"correct": True})}) for task_id in "ab"
    )
    assert first.attempts is second.attempts


def test_true_and_one_are_not_alike() -> None:
    values = (True, 1.0, False, 0.0)
    seen = [observed("t", None, {1: AttemptResult(metrics={"m": value})}) for value in values]
    assert [task.attempts[1].metrics["m"] for task in seen] == [*values]
    assert [type(task.attempts[1].metrics["m"]) for task in seen] == [bool, float, bool, float]


def test_every_attempt_keeps_its_number_and_severity() -> None:
    issue = Issue(severity="error", phase="run", code="x", message="m")
    results = {2: AttemptResult(issues=(issue,)), 1: AttemptResult(metrics={"correct": False})}
    attempts = observed("t", "c", results).attempts
    assert {n: (one.severity, dict(one.metrics)) for n, one in attempts.items()} == {
        2: ("error", {}),
        1: ("", {"correct": False}),
    }
