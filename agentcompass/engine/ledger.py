"""What a request knows of its tasks, and what that comes to at its end."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import attrs

from agentcompass.engine.job import Run
from agentcompass.engine.observed import observations
from agentcompass.errors import StoreError
from agentcompass.metrics.observations import TaskObservations
from agentcompass.records.reuse import TakenOver
from agentcompass.records.task import TaskSpec

# From the heaviest severity, and how the last line of a run names it.
_ISSUES: Mapping[str, str] = {
    "fatal": "FATAL issues",
    "error": "errors",
    "warning": "warnings",
}


@attrs.define(eq=False)
class Ledger:
    """What is known of the selected tasks; those without an observation did not finish."""

    tasks: Sequence[TaskSpec]
    observed: dict[str, TaskObservations] = attrs.field(factory=dict)
    status: str = "cancelled"
    error: str | None = "request cancelled"

    def observations(self) -> list[TaskObservations]:
        """Of every selected task, in order."""
        return [
            self.observed.get(task.task_id)
            or TaskObservations(task_id=task.task_id, category=task.category)
            for task in self.tasks
        ]

    @property
    def pending(self) -> list[int]:
        """The places of the tasks that are still to be run."""
        return [i for i, task in enumerate(self.tasks) if task.task_id not in self.observed]

    @property
    def outcome(self) -> str:
        """The error of the run, and how many tasks had an issue, each by its heaviest."""
        heaviest = Counter(map(_heaviest, self.observed.values()))
        tasks = [
            f"{count} task{'' if count == 1 else 's'} with {kind}"
            for severity, kind in _ISSUES.items()
            if (count := heaviest[severity])
        ]
        return "; ".join([*filter(None, [self.error]), *tasks]) or "no error"

    def add_finished(self, task: TaskSpec, taken: TakenOver) -> None:
        """Count what an earlier run finished as if it had been run, and keep no more of it."""
        self.observed[task.task_id] = observations(task, taken.kept)

    def conclude(self, run: Run, *, timed_out: bool) -> None:
        """Decide about the status of a run that came to its end, if only by its deadline."""
        if timed_out:
            self.status = "timed_out"
            whose = "request" if run.job.ends_at is None else "orchestration"
            self.error = f"{whose} deadline exceeded: {run.job.timeout_seconds:g} s"
        elif run.account.refused:
            self.status, self.error = "failed", self._out_of_budget(run)
        elif any(_is_fatal(task) for task in self.observed.values()):
            self.status = "failed"
            self.error = f"Final FATAL issues; results: {run.store.directory}"
        else:
            self.status, self.error = "completed", None

    def note_crash(self, error: BaseException | None) -> None:
        """Fail the run for a bug of ours that ends it."""
        if isinstance(error, Exception):  # a cancellation is none, nor is a group that holds one
            self.status, self.error = "failed", f"{type(error).__name__}: {error}"

    @contextmanager
    def written_or_failed(self) -> Iterator[None]:
        """Fail a run whose end cannot be written; what it measured is told all the same."""
        try:
            yield
        except StoreError as error:
            self.status, self.error = "failed", str(error)

    def _out_of_budget(self, run: Run) -> str:
        left = f"{len(self.pending)} of {len(self.tasks)} tasks did not finish"
        if not self.pending:
            left = "agents were cut off or not tried again"
        return f"{run.account.fault}; {left}; --reuse goes on, with a larger run_budget or none"


def _is_fatal(task: TaskObservations) -> bool:
    return _heaviest(task) == "fatal"


def _heaviest(task: TaskObservations) -> str:
    severities = {attempt.severity for attempt in task.attempts.values()}
    return next((severity for severity in _ISSUES if severity in severities), "")
