"""One task: its attempts, at once (`avg`) or until the first success (`pass`), then its record."""

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

import trio

from agentcompass.deadlines import CleanupClock, cleanup
from agentcompass.engine.attempt import AttemptJob
from agentcompass.engine.events import TaskEvents
from agentcompass.engine.job import Run
from agentcompass.engine.observed import observations, task_header
from agentcompass.engine.results import unsaved_result
from agentcompass.errors import StoreError
from agentcompass.metrics.observations import TaskObservations
from agentcompass.records.attempt import AttemptResult, TaskHeader, severity_of
from agentcompass.records.issue import Issue, gravest
from agentcompass.records.request import AttemptPlan
from agentcompass.records.task import TaskSpec

RunAttempt = Callable[[AttemptJob], Awaitable[AttemptResult | None]]

log = logging.getLogger(__name__)

# A finished result is written even while the request is being cancelled; a disk gets this long.
SAVE_SECONDS = 60.0


async def run_task(
    run: Run, task: TaskSpec, *, index: int, total: int, run_attempt: RunAttempt
) -> TaskObservations | None:
    """Run the attempts of `task`, save them, and keep of them what the metrics need.

    None is a task that does not finish, since one of its attempts may not begin any more.
    """
    events = TaskEvents(run, task, index, total)
    header = task_header(run.job, task)
    taken = run.taken_over.get(task.task_id)
    results: dict[int, AttemptResult] = {} if taken is None else dict(taken.kept)

    async def run_and_save(number: int) -> None:
        attempt = AttemptJob(run=run, events=events, task=task, header=header, number=number)
        if (result := await run_attempt(attempt)) is None:
            return
        results[number] = result
        if header.attempt_plan.k > 1:  # a single attempt is saved with its task, in one go
            saving = run.store.save_attempt(header, number, result)
            await _save(saving, results, [number], faults)

    faults: list[str] = []
    await _run_attempts(header, results, run_and_save)
    done = _is_complete(header.attempt_plan, results)
    if done and not faults:
        await _save(_publish(run, header, results), results, list(results), faults)
    _tell(run, task, faults)
    if not done:
        return None
    metric = run.contract.primary
    events.task_finished(severity_of(results), saved=not faults, outcome=_outcome(metric, results))
    return observations(task, results)


def _tell(run: Run, task: TaskSpec, faults: Sequence[str]) -> None:
    if faults:
        run.unsaved.append(task.task_id)
    for fault in faults:
        log.error("task %s could not be saved: %s", task.task_id, fault)


def _is_complete(plan: AttemptPlan, results: Mapping[int, AttemptResult]) -> bool:
    solved = plan.strategy == "pass" and any(result.succeeded for result in results.values())
    return solved or results.keys() >= set(plan.numbers)


def _outcome(metric: str, results: Mapping[int, AttemptResult]) -> dict[str, Any]:
    """The primary metric, its mean over the attempts that have it, and the gravest issue's text."""
    values = [float(r.metrics[metric]) for r in results.values() if metric in r.metrics]
    worst = gravest(_issues(results))
    return {
        "metric": metric,
        "value": sum(values) / len(values) if values else None,
        "issue": None if worst is None else worst.text,
    }


async def _save(
    saving: Awaitable[None],
    results: dict[int, AttemptResult],
    numbers: Sequence[int],
    faults: list[str],
) -> None:
    """Save what was measured also after a cancellation; what cannot be saved is FATAL, alone."""
    try:
        with cleanup(CleanupClock(SAVE_SECONDS)):
            await saving
            return
        faults.append(f"not written within {SAVE_SECONDS:g} s")
    except StoreError as error:
        faults.append(str(error))
    for number in numbers:
        results[number] = unsaved_result(results[number], faults[-1])


async def _run_attempts(
    header: TaskHeader,
    results: Mapping[int, AttemptResult],
    run_and_save: Callable[[int], Awaitable[None]],
) -> None:
    plan = header.attempt_plan
    if plan.strategy == "pass":
        for number in plan.numbers:
            if number not in results:
                await run_and_save(number)
            if number not in results or results[number].succeeded:
                break
        return
    missing = sorted(set(plan.numbers) - results.keys())
    if len(missing) == 1:
        await run_and_save(missing[0])
        return
    async with trio.open_nursery() as nursery:
        for number in missing:
            nursery.start_soon(run_and_save, number, name=f"{header.task_id}#{number}")


async def _publish(run: Run, header: TaskHeader, results: Mapping[int, AttemptResult]) -> None:
    if header.attempt_plan.k == 1:
        await run.store.save_task(header, results, severity_of(results))
    else:
        await run.store.publish_task(header, severity_of(results))


def _issues(results: Mapping[int, AttemptResult]) -> Iterator[Issue]:
    return (issue for result in results.values() for issue in result.issues)
