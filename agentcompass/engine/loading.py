"""What is known before a run directory exists: the tasks, and the earlier run to reuse."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import trio

from agentcompass.engine.job import Job
from agentcompass.engine.reporting import make_report
from agentcompass.engine.reuse import Judge
from agentcompass.errors import UsageError
from agentcompass.metrics.hierarchy import HierarchyInvalid
from agentcompass.metrics.observations import TaskObservations
from agentcompass.plugin_edge import plugin_edge
from agentcompass.records.credentials import is_secret_name
from agentcompass.records.metrics import ContractInvalid
from agentcompass.records.task import TaskSpec
from agentcompass.store.reuse_source import ReuseSource


async def load_tasks(job: Job, ends_at: float) -> Sequence[TaskSpec]:
    """The selected tasks, or none where loading does not end by `ends_at` on trio's clock.

    A public data set that is not there is fetched first.

    Raises `UsageError` for task ids, data or metrics that cannot be.
    """
    tasks: Sequence[TaskSpec] = ()
    with trio.CancelScope(deadline=ends_at):
        if job.data is not None:
            await job.data.ready()
        tasks = await trio.to_thread.run_sync(_load_checked, job, abandon_on_cancel=True)
    job.redactor.learn(_secrets(tasks))
    return tasks


def _load_checked(job: Job) -> Sequence[TaskSpec]:
    """The tasks, of which a report can be made. Blocking."""
    name = f"benchmark {job.request.benchmark.id!r}"
    with plugin_edge(f"{name}: load_tasks"):
        tasks = tuple(job.benchmark.load_tasks(job.data_dir))
        _refuse_duplicates(tasks)
    with plugin_edge(f"{name}: metric_contract"):
        job.benchmark.metric_contract()
    nothing = [TaskObservations(task_id=task.task_id, category=task.category) for task in tasks]
    try:
        make_report(job, nothing)
    except (ContractInvalid, HierarchyInvalid) as error:  # better now than after the last task
        raise UsageError(f"these metrics cannot be reported: {error}") from error
    return tasks


def _refuse_duplicates(tasks: Sequence[TaskSpec]) -> None:
    counts = Counter(task.task_id for task in tasks)
    if twice := sorted(task_id for task_id, count in counts.items() if count > 1):
        raise UsageError(f"the data set has task ids more than once: {', '.join(twice)}")


def _secrets(tasks: Sequence[TaskSpec]) -> Iterator[str]:
    """What tasks hand to their sandboxes under the name of a credential."""
    for task in tasks:
        for named in (task.env_variables, task.evaluation_env_variables, *task.metadata.values()):
            yield from _credentials(named)


def _credentials(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from (str(held) for name, held in value.items() if is_secret_name(str(name)))
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from _credentials(item)


async def find_source(job: Job, tasks: Sequence[TaskSpec], ends_at: float) -> ReuseSource | None:
    """The earlier run to reuse, None where the request asks for none.

    Raises `UsageError` for one that it names and that cannot be used.
    """
    if job.find_source is None:
        return None
    task_ids = [task.task_id for task in tasks]
    with trio.CancelScope(deadline=ends_at):
        return await trio.to_thread.run_sync(
            job.find_source, task_ids, judge_of(job), abandon_on_cancel=True
        )
    return None


def judge_of(job: Job) -> Judge:
    """Decides by what this request measures and how it retries."""
    return Judge(
        contract=job.benchmark.metric_contract(),
        retry=job.retry,
        may_resume=job.request.runtime.checkpoint_resume,
    )
