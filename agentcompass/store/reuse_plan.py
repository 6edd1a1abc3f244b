"""What is taken over of one task, decided before anything is copied. Pure."""

from collections.abc import Mapping

import attrs

from agentcompass.records.attempt import AttemptResult, TaskHeader, severity_of
from agentcompass.records.reuse import TakenOver
from agentcompass.store.earlier_run import Judge, Stored
from agentcompass.store.layout import INDEX, State, state_of, task_folder


@attrs.frozen
class Earlier:
    """A record of an earlier run, and what was read of it."""

    path: str
    data: bytes | None


@attrs.frozen(kw_only=True)
class ReusedTask:
    """Attempts `numbers` of a task, and in which `state` it is with them.

    `kept` are those that count as finished; its index may be that of an earlier run, `index`.
    """

    header: TaskHeader
    numbers: list[int]
    kept: Mapping[int, AttemptResult]
    resumable: frozenset[int]
    state: State
    index: Earlier

    @property
    def is_done(self) -> bool:
        """Whether its attempts leave nothing to do."""
        return self.state != "running"

    @property
    def taken(self) -> TakenOver:
        """What the engine needs to know of it."""
        return TakenOver(kept=self.kept, resumable=self.resumable, published=self.is_done)

    def place(self, state: State) -> str:
        """Its folder in `state`, relative to the run."""
        return f"details/{state}/{task_folder(self.header.task_id)}"


def reused_task(header: TaskHeader, found: Mapping[int, Stored], judge: Judge) -> ReusedTask:
    """What becomes of a task of which some attempts were found.

    Where those that are kept leave nothing to do, the others are left behind.
    """
    kept = {
        number: _counted(stored.result, judge)
        for number, stored in sorted(found.items())
        if stored.result is not None and stored.verdict == "keep"
    }
    is_done = judge.completes(header.attempt_plan, kept)
    numbers = sorted(kept if is_done else found)
    first = found[numbers[0]]
    return ReusedTask(
        header=header,
        numbers=numbers,
        kept=kept,
        resumable=frozenset(() if is_done else found.keys() - kept.keys()),
        state=state_of(severity_of(kept)) if is_done else "running",
        index=Earlier(f"{first.folder.rpartition('/')[0]}/{INDEX}", first.files[INDEX]),
    )


def _counted(result: AttemptResult, judge: Judge) -> AttemptResult:
    metrics = judge.counted(result)
    return result if len(metrics) == len(result.metrics) else attrs.evolve(result, metrics=metrics)
