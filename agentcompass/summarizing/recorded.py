"""What a run directory says of its measurement: the plan, and each task that finished."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from agentcompass.config.merge import merged, pick
from agentcompass.errors import StoreError, UsageError
from agentcompass.metrics.observations import AttemptObservation, TaskObservations, observed
from agentcompass.records.convert import structure_record
from agentcompass.records.request import AttemptPlan
from agentcompass.records.run_info import RunInfo
from agentcompass.store.atomic import read_record
from agentcompass.store.layout import RunLayout, task_folder
from agentcompass.store.reading import StoredTask, UnreadableTask, read_run_info, read_tasks

log = logging.getLogger(__name__)


@attrs.define(kw_only=True)
class Recorded:
    """What a run directory says: of the run, and of each task that finished.

    `odd_plans` are those of tasks that have another one than the run. `left_out` are the faults of
    tasks that cannot be counted; each was logged as a warning.
    """

    info: RunInfo
    request: Mapping[str, Any]
    plan: AttemptPlan
    observed: dict[str, TaskObservations] = attrs.field(factory=dict)
    odd_plans: dict[str, AttemptPlan] = attrs.field(factory=dict)
    left_out: list[str] = attrs.field(factory=list)

    @property
    def benchmark_id(self) -> str:
        """The benchmark, which need not be installed."""
        return str(pick(self.request, ("benchmark", "id"), "unknown"))

    @property
    def model_id(self) -> str:
        """The model under test."""
        return str(pick(self.request, ("model", "id"), "unknown"))

    @property
    def benchmark_params(self) -> Mapping[str, Any]:
        """The benchmark's parameters, as they are on record."""
        found = pick(self.request, ("benchmark", "params"))
        return found if isinstance(found, Mapping) else {}

    def leave_out(self, fault: str) -> None:
        """Name a task that does not count."""
        self.left_out.append(fault)
        log.warning("left out: %s", fault)


def read_run(directory: Path) -> Recorded:
    """The records of a run, ours or the peer's; blocking.

    A task that cannot be read is left out, and named. Raises `UsageError` where `directory` is not
    a run, or one that this version cannot read.
    """
    try:
        info = read_run_info(directory, plans=False)
        request = merged(_params(directory), info.request)
        attempts = pick(request, ("execution", "attempts"))
        source = f"{RunLayout(directory).run_info}: request.execution.attempts"
        run = Recorded(
            info=info,
            request=request,
            plan=structure_record(attempts, AttemptPlan, source=source),
        )
        for task in read_tasks(directory):
            _take(run, task)
        _void_unsaved(run)
    except StoreError as error:
        raise UsageError(str(error)) from error
    return run


def _void_unsaved(run: Recorded) -> None:
    """Count what could not be written as the run itself did: with a FATAL issue."""
    categories = run.info.task_categories or {}
    for task_id in run.info.unsaved_tasks or ():
        run.odd_plans.pop(task_id, None)
        run.observed[task_id] = TaskObservations(
            task_id=task_id,
            category=categories.get(task_id),
            attempts={1: AttemptObservation(severity="fatal")},
        )


def _params(directory: Path) -> Mapping[str, Any]:
    """params.json, which only fills in what run_info.json lacks (docs/run-directory.md)."""
    path = RunLayout(directory).params
    try:
        found = read_record(path)
    except StoreError as error:
        log.warning("%s", error)
        return {}
    return found if isinstance(found, dict) else {}


def _take(run: Recorded, task: StoredTask | UnreadableTask) -> None:
    if isinstance(task, UnreadableTask):
        run.leave_out(task.fault)
    elif task.state == "running":
        return  # the run itself counts no attempt of a task that has not finished
    elif task.header is None or not task.is_published:
        run.leave_out(f"{task.directory}: task {task.task_id!r} lacks results")
    elif task.directory.name != task_folder(task.task_id):
        run.leave_out(f"{task.directory}: not the folder of task {task.task_id!r}")
    else:
        run.observed[task.task_id] = _observed(task)
        if (plan := task.header.attempt_plan) != run.plan:
            run.odd_plans[task.task_id] = plan


def _observed(task: StoredTask) -> TaskObservations:
    finished = {n: result for n, result in task.attempts.items() if result is not None}
    return observed(task.task_id, task.header.category if task.header else None, finished)
