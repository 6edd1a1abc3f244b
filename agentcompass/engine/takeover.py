"""Takes over into an open run what earlier runs have of its tasks."""

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import attrs
import trio

from agentcompass.engine.events import emit_run
from agentcompass.engine.job import Run
from agentcompass.engine.ledger import Ledger
from agentcompass.engine.loading import judge_of
from agentcompass.engine.observed import task_header
from agentcompass.engine.reuse import Judge
from agentcompass.errors import StoreError
from agentcompass.records.attempt import severity_of
from agentcompass.records.reuse import TakenOver
from agentcompass.records.task import TaskSpec
from agentcompass.store.reuse_source import ReuseSource

# Tasks that one visit to a thread takes over: few enough that a deadline is soon noticed.
_BATCH = 16
# Such visits at once: a disk takes several syncs for the price of one, and the loop gets its turn.
_AT_ONCE = 4
_NAMED = 3  # older runs in a message

log = logging.getLogger(__name__)


@attrs.define(kw_only=True, eq=False)
class _Takeover:
    """Takes over batch after batch, and counts; `tasks` are those that earlier runs finished."""

    run: Run
    source: ReuseSource
    ledger: Ledger
    tasks: int = 0
    attempts: int = 0
    resumable: int = 0
    severities: Counter[str] = attrs.field(factory=Counter)
    _judge: Judge = attrs.field(init=False)

    @_judge.default
    def _judge_of_run(self) -> Judge:
        return judge_of(self.run.job, self.run.contract)

    async def take(self, batches: Iterable[Sequence[TaskSpec]]) -> None:
        """Take over what there is of these tasks; raises `StoreError`."""
        for batch in batches:
            headers = [task_header(self.run.job, task) for task in batch]
            taken: dict[str, TakenOver] = {}
            try:
                await self.run.store.take_over(self.source, headers, self._judge, taken)
            finally:
                for task in batch:
                    if task.task_id in taken:
                        self._keep(task, taken[task.task_id])

    def _keep(self, task: TaskSpec, taken: TakenOver) -> None:
        self.attempts += len(taken.kept)
        self.resumable += len(taken.resumable)
        if not taken.published:
            self.run.taken_over[task.task_id] = taken
            return
        self.ledger.add_finished(task, taken)
        self.tasks += 1
        if severity := severity_of(taken.kept):
            self.severities[severity] += 1

    def tell(self) -> None:
        """Say it, and put it on record."""
        self.run.reused = self.attempts
        log.info(
            "reused from run %s: %d finished attempts, and the work of %d to be scored",
            self.source.origin.run_id,
            self.attempts,
            self.resumable,
        )
        emit_run(
            self.run,
            "reuse_loaded",
            reused_tasks=self.tasks,
            tasks_to_run=len(self.ledger.tasks) - self.tasks,
            reused_severity_counts=self.severities,
            reused_attempts=self.attempts,
            resumable_attempts=self.resumable,
        )


async def take_over(run: Run, source: ReuseSource, ledger: Ledger) -> None:
    """Count in `ledger` what is finished, keep in `run.taken_over` what goes on; say what and
    from where.

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
    takeover = _Takeover(run=run, source=source, ledger=ledger)
    try:
        await _take_all(takeover, ledger.tasks)
    finally:
        takeover.tell()  # also of what came before a fault or a deadline


async def _take_all(takeover: _Takeover, tasks: Sequence[TaskSpec]) -> None:
    batches = (tasks[first : first + _BATCH] for first in range(0, len(tasks), _BATCH))
    faults: list[StoreError] = []

    async def take() -> None:
        try:
            await takeover.take(batches)
        except StoreError as error:  # one of them, and in no group, is what people can read
            faults.append(error)
            nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        for _ in range(_AT_ONCE):
            nursery.start_soon(take)
    if faults:
        raise faults[0]


def _few(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def reuse_record(run: Run) -> dict[str, Any]:
    """What run_info.json says of a run that reused another, and of where its attempts are from."""
    if run.source is None or not run.source.runs:
        return {}
    counts = {
        "reused": run.reused,
        "resumed": sum(attempt not in run.executed for attempt in run.resumed),
        "executed": len(run.executed),
    }
    return {"reused_from": run.source.origin, "reuse_counts": counts}
