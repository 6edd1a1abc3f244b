"""Takes over into an open run what earlier runs have of its tasks."""

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any

import trio

from agentcompass.engine.events import emit_run
from agentcompass.engine.job import Run
from agentcompass.engine.loading import judge_of
from agentcompass.engine.observed import task_header
from agentcompass.errors import StoreError
from agentcompass.records.attempt import TaskHeader, severity_of
from agentcompass.records.task import TaskSpec
from agentcompass.store.reuse_source import ReuseSource

# Tasks that one visit to a thread takes over: few enough that a deadline is soon noticed.
_BATCH = 16
_NAMED = 3  # older runs in a message

log = logging.getLogger(__name__)


async def take_over(run: Run, source: ReuseSource, tasks: Sequence[TaskSpec]) -> None:
    """Fill `run.taken_over`, and say what was taken from where.

    Raises `StoreError` where something cannot be copied: better no run than one that executes
    again, and pays for, what is done.
    """
    for reason in source.passed_over:
        log.info("not reused: run %s", reason)
    if source.older:
        log.info("not looked at: older runs %s; --reuse ID names one", _few(source.older))
    if not source.runs:
        log.info("there is no earlier run to reuse: every task is executed")
        return
    await run.store.update_run_info(reused_from=source.origin)
    judge = judge_of(run.job, run.contract)
    faults: list[StoreError] = []

    async def take(batch: Sequence[TaskHeader]) -> None:
        try:
            await run.store.take_over(source, batch, judge, run.taken_over)
        except StoreError as error:  # one of them, and in no group, is what people can read
            faults.append(error)
            nursery.cancel_scope.cancel()

    try:
        async with trio.open_nursery() as nursery:
            for first in range(0, len(tasks), _BATCH):
                batch = [task_header(run.job, task) for task in tasks[first : first + _BATCH]]
                nursery.start_soon(take, batch)
    finally:
        _tell(run, source, len(tasks))  # also of what came before a fault or a deadline
    if faults:
        raise faults[0]


def _few(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _tell(run: Run, source: ReuseSource, total: int) -> None:
    found = run.taken_over.values()
    run.reused = kept = sum(len(taken.kept) for taken in found)
    resumable = sum(len(taken.resumable) for taken in found)
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
    counts = {
        "reused": run.reused,
        "resumed": len(run.resumed - run.executed),
        "executed": len(run.executed),
    }
    return {"reused_from": run.source.origin, "reuse_counts": counts}
