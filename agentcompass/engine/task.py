"""One task: its attempts, at once (`avg`) or until the first success (`pass`), then its record."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import trio

from agentcompass.engine.attempt import AttemptJob
from agentcompass.engine.events import TaskEvents
from agentcompass.engine.issues import leaf_of
from agentcompass.engine.job import Run
from agentcompass.engine.results import unsaved_result
from agentcompass.errors import StoreError
from agentcompass.metrics.observations import AttemptObservation, TaskObservations
from agentcompass.records.attempt import AttemptResult, TaskHeader
from agentcompass.records.issue import highest_severity
from agentcompass.records.task import TaskSpec

RunAttempt = Callable[[AttemptJob], Awaitable[AttemptResult]]

log = logging.getLogger(__name__)


async def run_task(
    run: Run, task: TaskSpec, *, index: int, total: int, run_attempt: RunAttempt
) -> TaskObservations:
    """Run the attempts of `task`, save them, and keep of them what the metrics need."""
    events = TaskEvents(run, task, index, total)
    header = TaskHeader(
        task_id=task.task_id,
        category=task.category,
        ground_truth=task.ground_truth,
        attempt_plan=run.job.request.execution.attempts,
    )
    results: dict[int, AttemptResult] = {}

    async def run_one(number: int) -> None:
        attempt = AttemptJob(run=run, events=events, task=task, header=header, number=number)
        results[number] = await run_attempt(attempt)

    saved = True
    try:
        await _run_attempts(run, header, results, run_one)
        await _publish(run, header, results)
    except* StoreError as group:  # attempts at once raise it in a group
        fault = str(leaf_of(group))
        log.error("task %s could not be saved: %s", task.task_id, fault)
        results = {number: unsaved_result(r, fault) for number, r in results.items()}
        saved = False
    metric = run.job.benchmark.metric_contract().primary
    events.task_finished(_severity(results), saved=saved, outcome=_outcome(metric, results))
    return _observed(task, results)


def _outcome(metric: str, results: Mapping[int, AttemptResult]) -> dict[str, Any]:
    """The primary metric, its mean over the attempts that have it, and the gravest issue's text."""
    values = [float(r.metrics[metric]) for r in results.values() if metric in r.metrics]
    issues = [issue for result in results.values() for issue in result.issues]
    gravest = next((i for i in issues if i.severity == highest_severity(issues)), None)
    return {
        "metric": metric,
        "value": sum(values) / len(values) if values else None,
        "issue": None if gravest is None else gravest.text,
    }


async def _run_attempts(
    run: Run,
    header: TaskHeader,
    results: Mapping[int, AttemptResult],
    run_one: Callable[[int], Awaitable[None]],
) -> None:
    plan = header.attempt_plan

    async def run_and_save(number: int) -> None:
        await run_one(number)
        if plan.k > 1:  # a single attempt is saved with its task, in one go
            await run.store.save_attempt(header, number, results[number])

    if plan.strategy == "pass":
        for number in plan.numbers:
            await run_and_save(number)
            if _succeeded(results[number]):
                break
        return
    async with trio.open_nursery() as nursery:
        for number in plan.numbers:
            nursery.start_soon(run_and_save, number, name=f"{header.task_id}#{number}")


def _succeeded(result: AttemptResult) -> bool:
    fatal = highest_severity(result.issues) == "fatal"
    return not fatal and result.metrics.get("correct") is True


async def _publish(run: Run, header: TaskHeader, results: Mapping[int, AttemptResult]) -> None:
    if header.attempt_plan.k == 1:
        await run.store.save_task(header, results, _severity(results))
    else:
        await run.store.publish_task(header, _severity(results))


def _severity(results: Mapping[int, AttemptResult]) -> str:
    return highest_severity(issue for result in results.values() for issue in result.issues)


def _observed(task: TaskSpec, results: Mapping[int, AttemptResult]) -> TaskObservations:
    return TaskObservations(
        task_id=task.task_id,
        category=task.category,
        attempts={
            number: AttemptObservation(
                metrics=result.metrics, severity=highest_severity(result.issues)
            )
            for number, result in results.items()
        },
    )
