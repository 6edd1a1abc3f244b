"""How a task stands in a series: invalidated, evaluated, error or unavailable."""

from collections.abc import Iterable
from typing import Literal

import attrs

from agentcompass.metrics.observations import TaskObservations
from agentcompass.records.metrics import Counts
from agentcompass.records.request import AttemptPlan

State = Literal["invalidated", "evaluated", "error", "unavailable"]

UNCATEGORIZED = "__uncategorized__"


@attrs.frozen(kw_only=True)
class Standing:
    """What of a task holds in every series. `faulty`: an attempt erred, or was due but missing."""

    category: str
    invalidated: bool
    faulty: bool


def category_of(task: TaskObservations) -> str:
    """The category that a task counts in: its own, or the one for tasks without."""
    return task.category if task.category and task.category.strip() else UNCATEGORIZED


def standing(task: TaskObservations, plan: AttemptPlan, *, primary: str) -> Standing:
    """Read a task's attempts once for all series."""
    severities = {attempt.severity for attempt in task.attempts.values()}
    return Standing(
        category=category_of(task),
        invalidated="fatal" in severities,
        faulty=bool(severities & {"error", "fatal"}) or _lacks_attempt(task, plan, primary),
    )


def _lacks_attempt(task: TaskObservations, plan: AttemptPlan, primary: str) -> bool:
    """Whether a planned attempt is missing; under `pass` none is planned after a success."""
    for number in plan.numbers:
        attempt = task.attempts.get(number)
        if attempt is None:
            return True
        if plan.strategy == "pass" and attempt.metrics.get(primary) is True:
            return False
    return False


def state(task: Standing, value: float | None) -> State:
    """The state of a task in a series where its attempts reduce to `value`."""
    if task.invalidated:
        return "invalidated"
    if value is not None:
        return "evaluated"
    return "error" if task.faulty else "unavailable"


def count(tasks: Iterable[tuple[Standing, float | None]]) -> Counts:
    """Count tasks with their values; one in state `error` is unavailable as well."""
    standings = []
    states = []
    for task, value in tasks:
        standings.append(task)
        states.append(state(task, value))
    return Counts(
        total=len(states),
        evaluated=states.count("evaluated"),
        error=sum(task.faulty for task in standings),
        unavailable=states.count("error") + states.count("unavailable"),
        invalidated=states.count("invalidated"),
    )
