"""A resolved orchestration, from the preflight of its requests to the result that programs get."""

import os
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import attrs
import trio

from agentcompass.config.orchestration import Orchestration
from agentcompass.config.secrets import known_secrets
from agentcompass.engine.job import Job
from agentcompass.engine.limits import Limits, set_provider_limits
from agentcompass.engine.lines import Tokens
from agentcompass.engine.orchestration import run_orchestration
from agentcompass.errors import AgentCompassError, ConfigInvalid, UsageError
from agentcompass.evaluating import run_to_result
from agentcompass.groups import bare_interrupts
from agentcompass.preflight import prepare_job
from agentcompass.protocols import Reporter
from agentcompass.records.orchestration import OrchestrationResult, RequestOutcome, overall
from agentcompass.store.location import run_location
from agentcompass.store.provenance import now
from agentcompass.store.redact import Redactor


async def orchestrate(
    resolved: Orchestration,
    *,
    reporters: Sequence[Reporter] = (),
    ended: Sequence[Callable[[RequestOutcome], None]] = (),
    on_open: Callable[[Path], None] = lambda _directory: None,
    redactor: Redactor | None = None,
) -> OrchestrationResult:
    """Check every request and run them all; how each ended is in the result, and raises nothing.

    Raises `ConfigInvalid` with the faults of all requests, before anything is created. `ended` are
    told of each end at once, also while a cancellation passes; the rest is as in `evaluate`.
    """
    jobs = await prepare_jobs(
        resolved, listeners=[each.emit for each in reporters], on_open=on_open, redactor=redactor
    )
    started_at = now()

    def tell(outcome: RequestOutcome) -> None:
        for told in ended:
            told(outcome)

    with bare_interrupts():
        outcomes = await run_orchestration(jobs, run_to_result, ended=tell)
    return OrchestrationResult(
        orchestration_id=resolved.id,
        name=resolved.name,
        status=overall(outcomes),
        requests={outcome.name: outcome for outcome in outcomes},
        started_at=started_at,
        finished_at=now(),
    )


async def prepare_jobs(
    resolved: Orchestration,
    *,
    listeners: Sequence[Callable[..., None]] = (),
    on_open: Callable[[Path], None] = lambda _directory: None,
    redactor: Redactor | None = None,
) -> list[Job]:
    """Check what can be checked of every request without creating anything; they share their slots.

    Raises `ConfigInvalid` with the faults of all of them.
    """
    redactor = redactor or Redactor()
    for request in resolved.requests:
        redactor.learn(known_secrets(request, os.environ))
    prepare = partial(
        prepare_job,
        options=resolved.runtime,
        listeners=listeners,
        on_open=on_open,
        redactor=redactor,
    )
    found: dict[str, Job | AgentCompassError] = {}
    async with trio.open_nursery() as nursery:
        for name, request in zip(resolved.names, resolved.requests, strict=True):
            nursery.start_soon(_prepare, partial(prepare, request), name, found)
    faults = [*_shared_folders(resolved), *_faults({name: found[name] for name in resolved.names})]
    if faults:
        raise ConfigInvalid([redactor.text(fault) for fault in faults])
    set_provider_limits(resolved.runtime.provider_limits, resolved.runtime.env_open_qps)
    slots = Tokens(resolved.task_concurrency)
    jobs = (found[name] for name in resolved.names)
    return [attrs.evolve(job, limits=Limits(slots)) for job in jobs if isinstance(job, Job)]


async def _prepare(
    prepare: Callable[[], Awaitable[Job]], name: str, found: dict[str, Job | AgentCompassError]
) -> None:
    try:
        found[name] = await prepare()
    except AgentCompassError as error:
        found[name] = error


def _faults(found: Mapping[str, Job | AgentCompassError]) -> Iterator[str]:
    for name, error in found.items():
        if isinstance(error, AgentCompassError):
            faults = error.faults if isinstance(error, ConfigInvalid) else (str(error),)
            yield from (f"request {name!r}: {fault}" for fault in faults)


def _shared_folders(resolved: Orchestration) -> Iterator[str]:
    """A fault for each folder that the runs of more than one request would be written to."""
    names: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, request in zip(resolved.names, resolved.requests, strict=True):
        try:
            location = run_location(Path(resolved.runtime.results_dir), request)
        except UsageError:
            continue  # told by the preflight of the request
        names[location.namespace].append(repr(name))
    for namespace, same in names.items():
        if len(same) > 1:
            folder = "/".join(namespace)
            yield f"requests {' and '.join(same)} have the same output folder {folder}; rename one"
