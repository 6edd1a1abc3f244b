"""Takes over into an open run what earlier runs have of its tasks."""

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any

import trio

from agentcompass.engine.events import emit_run
from agentcompass.engine.job import Run
from agentcompass.engine.loading import judge_of
from agentcompass.engine.observed import severity_of, task_header
from agentcompass.engine.reuse import Judge
from agentcompass.errors import StoreError
from agentcompass.records.attempt import TaskHeader
from agentcompass.records.task import TaskSpec
from agentcompass.store.reuse_source import ReuseSource

# Tasks that one visit to a thread takes over: few enough that a deadline is soon noticed.
_BATCH = 16

log = logging.getLogger(__name__)


async def take_over(run: Run, source: ReuseSource, tasks: Sequence[TaskSpec]) -> None:
    """Fill `run.taken_over`, and say what was taken from where.

    Raises `StoreError` where something cannot be copied: better no run than one that executes
    again, and pays for, what is done.
    """
    for reason in source.passed_over:
        log.info("not reused: run %s", reason)
    if not source.runs:
        log.info("there is no earlier run to reuse: every task is executed")
        return
    await run.store.update_run_info(reused_from=source.origin)
    judge = judge_of(run.job)
    faults: list[StoreError] = []

    async def take(batch: Sequence[TaskHeader]) -> None:
        try:
            await _take_over(run, source, batch, judge)
        except StoreError as error:  # one of them, and in no group, is what people can read
            faults.append(error)
            nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        for first in range(0, len(tasks), _BATCH):
            batch = [task_header(run.job, task) for task in tasks[first : first + _BATCH]]
            nursery.start_soon(take, batch)
    if faults:
        raise faults[0]
    _tell(run, source, len(tasks))


async def _take_over(
    run: Run, source: ReuseSource, batch: Sequence[TaskHeader], judge: Judge
) -> None:
    for header, taken in zip(batch, await run.store.take_over(source, batch, judge), strict=True):
        if taken.kept or taken.resumable:
            run.taken_over[header.task_id] = taken


def _tell(run: Run, source: ReuseSource, total: int) -> None:
    found = run.taken_over.values()
    kept = sum(len(taken.kept) for taken in found)
    resumable = sum(len(taken.resumable) for taken in found)
    run.counts.update(reused=kept)
    done = [taken for taken in found if taken.published]
    log.info(
        "reused from run %s: %d finished attempts, and the work of %d to be scored",
        source.origin.run_id,
        kept,
        resumable,
    )
    emit_run(
        run,
        "reuse_loaded",
        reused_tasks=len(done),
        tasks_to_run=total - len(done),
        reused_severity_counts=Counter(s for taken in done if (s := severity_of(taken.kept))),
        reused_attempts=kept,
        resumable_attempts=resumable,
    )


def reuse_record(run: Run) -> dict[str, Any]:
    """What run_info.json says of a run that reused another, and of where its attempts are from."""
    if run.source is None or not run.source.runs:
        return {}
    counts = {kind: run.counts[kind] for kind in ("reused", "resumed", "executed")}
    return {"reused_from": run.source.origin, "reuse_counts": counts}
