"""The state of a task, as a table."""

import pytest

from agentcompass.metrics.observations import AttemptObservation, TaskObservations
from agentcompass.metrics.states import UNCATEGORIZED, count, standing, state
from agentcompass.records.metrics import Counts
from agentcompass.records.request import AttemptPlan


def task(*severities, category="c", solved_at=None):
    return TaskObservations(
        task_id="t",
        category=category,
        attempts={
            number: AttemptObservation(metrics={"correct": number == solved_at}, severity=severity)
            for number, severity in enumerate(severities, 1)
            if severity is not None
        },
    )


def stands(observed, *, k=1, strategy="avg"):
    return standing(observed, AttemptPlan(k=k, strategy=strategy), primary="correct")


@pytest.mark.parametrize(
    ("severities", "value", "expected"),
    [
        ([""], 1.0, "evaluated"),
        (["warning"], 1.0, "evaluated"),
        (["error"], 1.0, "evaluated"),  # ran out of time and was scored
        (["fatal"], 1.0, "invalidated"),
        (["fatal"], None, "invalidated"),
        (["error"], None, "error"),
        ([], None, "error"),  # never finished
        ([""], None, "unavailable"),
        (["warning"], None, "unavailable"),
    ],
)
def test_the_state_is_the_heaviest_that_applies(severities, value, expected):
    assert state(stands(task(*severities)), value) == expected


@pytest.mark.parametrize(
    ("observed", "strategy", "faulty"),
    [
        (task("", "", ""), "avg", False),
        (task("", "", None), "avg", True),
        (task("", "", None, solved_at=2), "avg", True),
        (task("", "", None, solved_at=2), "pass", False),
        (task(None, "", None, solved_at=2), "pass", True),
        (task("", "", None), "pass", True),
        (task("", "error", None, solved_at=2), "pass", True),
    ],
)
def test_no_attempt_is_missing_after_a_success_under_pass(observed, strategy, faulty):
    assert stands(observed, k=3, strategy=strategy).faulty is faulty


@pytest.mark.parametrize("category", [None, "", "  "])
def test_a_task_without_a_category_has_one_for_those(category):
    assert stands(task("", category=category)).category == UNCATEGORIZED


def test_one_task_with_every_kind_of_fault_is_counted_once():
    """An agent timeout, a scorer crash and a warning are one erroneous task (cases.md 64)."""
    tasks = [(stands(task("error", "error", "warning"), k=3), None)]

    assert count(tasks) == Counts(total=1, error=1, unavailable=1)
