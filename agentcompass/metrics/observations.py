"""What the attempts of each task observed: all that a report is built from."""

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Literal

import attrs

from agentcompass.errors import Severity
from agentcompass.records.attempt import AttemptResult
from agentcompass.records.metrics import MetricContract, MetricInvalid


@attrs.frozen(kw_only=True)
class AttemptObservation:
    """One finished attempt: what was measured, and the heaviest severity among its issues."""

    metrics: Mapping[str, bool | float] = attrs.field(factory=dict)
    severity: Severity | Literal[""] = ""


@attrs.frozen(kw_only=True)
class TaskObservations:
    """The attempts of a selected task by number; one that is not there never finished."""

    task_id: str
    category: str | None = None
    attempts: Mapping[int, AttemptObservation] = attrs.field(factory=dict)

    def values(self, metric: str) -> list[float]:
        """What the attempts observed for `metric`, leaving out those that observed nothing."""
        return [
            float(attempt.metrics[metric])
            for attempt in self.attempts.values()
            if metric in attempt.metrics
        ]


def observed(
    task_id: str, category: str | None, results: Mapping[int, AttemptResult]
) -> TaskObservations:
    """What the finished attempts of a task, by number, observed."""
    found = [
        _alike(number, result.severity, tuple(result.metrics), *result.metrics.values())
        for number, result in results.items()
    ]
    attempts = (
        found[0] if len(found) == 1 else {n: one for each in found for n, one in each.items()}
    )
    return TaskObservations(task_id=task_id, category=category, attempts=attempts)


@lru_cache(maxsize=1024, typed=True)
def _alike(
    number: int, severity: Severity | Literal[""], names: tuple[str, ...], *values: bool | float
) -> Mapping[int, AttemptObservation]:
    """One attempt, the same object for all that came out alike: most of many tasks did."""
    metrics = dict(zip(names, values, strict=True))
    return {number: AttemptObservation(metrics=metrics, severity=severity)}


def check_metrics(
    metrics: Mapping[str, object], contract: MetricContract, *, task_id: str, attempt: int
) -> None:
    """Raise `MetricInvalid` unless every metric is declared and of its kind."""
    for metric, value in metrics.items():
        fault = _fault(contract, metric, value)
        if fault:
            raise MetricInvalid(fault, task_id=task_id, attempt=attempt, metric=metric)


def check_observations(
    tasks: Iterable[TaskObservations], contract: MetricContract, *, k: int
) -> None:
    """Raise at the first that cannot be counted: a metric, an attempt number, a task seen twice."""
    seen: set[str] = set()
    for task in tasks:
        if task.task_id in seen:
            raise ValueError(f"task {task.task_id!r} is observed twice")
        seen.add(task.task_id)
        for number, attempt in task.attempts.items():
            if not 1 <= number <= k:
                raise MetricInvalid(f"is not one of 1..{k}", task_id=task.task_id, attempt=number)
            check_metrics(attempt.metrics, contract, task_id=task.task_id, attempt=number)


def _fault(contract: MetricContract, metric: str, value: object) -> str:
    spec = contract.specs.get(metric)
    if spec is None:
        return f"is not declared; declared: {', '.join(sorted(contract.specs))}"
    if spec.kind == "binary_success":
        return "" if isinstance(value, bool) else f"must be true or false, not {value!r:.80}"
    if isinstance(value, bool) or not isinstance(value, int | float) or not _finite(value):
        return f"must be a finite number, not {_shown(value)}"
    return ""


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond the floats
        return False


def _shown(value: object) -> str:
    # the digits of a long integer may not even be printable: sys.set_int_max_str_digits
    return "a huge integer" if type(value) is int else f"{value!r:.80}"
