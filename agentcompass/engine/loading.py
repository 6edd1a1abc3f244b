"""What is known before a run directory exists: the tasks, and the earlier run to reuse."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import trio

from agentcompass.engine.job import Job
from agentcompass.engine.reporting import make_report, metric_basis
from agentcompass.engine.reuse import Judge
from agentcompass.errors import PluginFailed, RequestTimeout, UsageError
from agentcompass.metrics.hierarchy import HierarchyInvalid, parse_hierarchy, require_categories
from agentcompass.metrics.observations import TaskObservations
from agentcompass.metrics.states import category_of
from agentcompass.plugin_edge import plugin_edge
from agentcompass.records.credentials import is_secret_name
from agentcompass.records.metrics import ContractInvalid, MetricContract
from agentcompass.records.run_info import MetricBasis
from agentcompass.records.task import TaskSpec
from agentcompass.store.reuse_source import ReuseSource


@attrs.frozen(kw_only=True)
class Loaded:
    """The selected tasks, and what is measured of them."""

    tasks: Sequence[TaskSpec]
    basis: MetricBasis


async def load(job: Job, ends_at: float) -> Loaded:
    """The selected tasks, or none where loading does not end by `ends_at` on trio's clock.

    A public data set that is not there is fetched first.

    Raises `UsageError` for task ids, data or metrics that cannot be.
    """
    with trio.CancelScope(deadline=ends_at) as scope:
        if job.data is not None:
            await job.data.ready()
        loaded = await trio.to_thread.run_sync(_load_checked, job, abandon_on_cancel=True)
    if scope.cancelled_caught:
        return await trio.to_thread.run_sync(_nothing_loaded, job)
    job.redactor.learn(_secrets(loaded.tasks))
    return loaded


def _nothing_loaded(job: Job) -> Loaded:
    """Out of time; some benchmarks know without their data what they measure. Blocking."""
    try:
        return Loaded(tasks=(), basis=metric_basis(job))
    except PluginFailed as error:
        limit = f"{job.timeout_seconds:g} s"
        raise RequestTimeout(f"deadline exceeded: {limit}, while tasks were loaded") from error


def _load_checked(job: Job) -> Loaded:
    """The tasks, of which a report can be made. Blocking."""
    with plugin_edge(f"benchmark {job.request.benchmark.id!r}: load_tasks"):
        tasks = tuple(job.benchmark.load_tasks(job.data_dir))
        _refuse_duplicates(tasks)
    loaded = Loaded(tasks=tasks, basis=metric_basis(job))
    try:
        _check_report(job, loaded)
    except (ContractInvalid, HierarchyInvalid) as error:  # better now than after the last task
        raise UsageError(f"these metrics cannot be reported: {error}") from error
    return loaded


def _check_report(job: Job, loaded: Loaded) -> None:
    nothing = [TaskObservations(task_id=t.task_id, category=t.category) for t in loaded.tasks]
    make_report(job, loaded.basis, nothing)
    tree = loaded.basis.category_hierarchy
    if tree is not None:  # the report misses the categories of tasks that were observed, alone
        require_categories(parse_hierarchy(tree), map(category_of, nothing))


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


async def find_source(job: Job, loaded: Loaded, ends_at: float) -> ReuseSource | None:
    """The earlier run to reuse, None where the request asks for none.

    Raises `UsageError` for one that it names and that cannot be used.
    """
    if job.find_source is None:
        return None
    task_ids = [task.task_id for task in loaded.tasks]
    with trio.CancelScope(deadline=ends_at):
        judge = judge_of(job, loaded.basis.contract)
        return await trio.to_thread.run_sync(
            job.find_source, task_ids, judge, abandon_on_cancel=True
        )
    return None


def judge_of(job: Job, contract: MetricContract) -> Judge:
    """Decides by what this request measures and how it retries."""
    return Judge(
        contract=contract,
        retry=job.retry,
        may_resume=job.request.runtime.checkpoint_resume,
    )
