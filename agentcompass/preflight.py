"""What is checked before anything is created: ids, parameters, providers, the model, the place."""

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import attrs
import trio

from agentcompass.config.components import build_component
from agentcompass.config.secrets import known_secrets
from agentcompass.deadlines import CleanupClock
from agentcompass.engine.budget import PricesCalls
from agentcompass.engine.job import Job, Store
from agentcompass.engine.limits import Limits
from agentcompass.engine.plan import asked_for
from agentcompass.engine.planning import mode_fault
from agentcompass.engine.retry import retry_policy
from agentcompass.errors import ConfigInvalid, UsageError
from agentcompass.plugin_edge import plugin_edge
from agentcompass.protocols import (
    Benchmark,
    Capabilities,
    ChecksWishes,
    Environment,
    Harness,
    Model,
    RunsItself,
)
from agentcompass.records.environment import (
    EnvironmentPlan,
    EnvironmentSetup,
    Resources,
)
from agentcompass.records.model import Usage
from agentcompass.records.progress import ProgressEvent
from agentcompass.records.request import EnvironmentSpec, ProcessOptions, RunRequest
from agentcompass.registry import known, load
from agentcompass.store.location import RunLocation, check_location, run_location
from agentcompass.store.recorded_calls import RecordedCalls, open_recorded_calls
from agentcompass.store.redact import Redactor
from agentcompass.store.reuse_source import check_named_source, find_reuse_source
from agentcompass.store.runs import open_run

# The harness id of a benchmark that runs its own agent loop.
NO_HARNESS = "none"
# The protocol that needs no endpoint, whichever others a harness speaks.
REPLAY = "replay"

Listener = Callable[[ProgressEvent], None]


async def prepare_job(
    request: RunRequest,
    options: ProcessOptions,
    *,
    listeners: Sequence[Listener] = (),
    on_open: Callable[[Path], None] | None = None,
    redactor: Redactor | None = None,
) -> Job:
    """Check everything that can be checked without creating anything, and put the job together.

    Raises `UsageError` in one line for what the caller has to change. `on_open` is told the run
    directory once it is reserved; `redactor` learns what the job finds to be secret.
    """
    parts = _build(request)
    _check_wishes(request.environment, parts.environment.capabilities)
    if fault := mode_fault(parts.benchmark, request.environment.evaluation_mode):
        raise UsageError(f"--env-params: {fault}")
    with plugin_edge(f"environment {request.environment.id!r}: preflight"):
        await parts.environment.preflight()
        if isinstance(parts.environment, ChecksWishes):
            await parts.environment.check(request.environment)
    redactor = redactor or Redactor()
    model = await _model(request, parts, redactor)
    if model is not None:
        await model.preflight()
        _check_price(request, model)
    location = run_location(Path(options.results_dir), request)
    await trio.to_thread.run_sync(check_location, location)
    await trio.to_thread.run_sync(check_named_source, location, request)
    redactor.learn(known_secrets(request, os.environ))
    return Job(
        request=request,
        benchmark=parts.benchmark,
        harness=parts.harness,
        environments={request.environment.id: parts.environment},
        model=model,
        limits=Limits(trio.CapacityLimiter(request.execution.task_concurrency)),
        retry=retry_policy(request.execution),
        data_dir=Path(options.data_dir),
        timeout_seconds=options.timeout_seconds,
        open_store=_opener(request, options, location, redactor, on_open),
        redactor=redactor,
        find_source=(
            partial(find_reuse_source, location, request) if request.runtime.reuse else None
        ),
        reporters=tuple(listeners),
    )


@attrs.frozen(kw_only=True, eq=False)
class _Parts:
    benchmark: Benchmark
    harness: Harness | None
    environment: Environment


def _build(request: RunRequest) -> _Parts:
    """Every component; the faults of all of them are told at once."""
    faults: list[str] = []

    def build(kind: Any, spec: Any, option: str) -> Any:
        try:
            return build_component(kind, spec.id, spec.params, path=option)
        except ConfigInvalid as error:
            faults.extend(error.faults)

    benchmark = build("benchmark", request.benchmark, "--benchmark-params")
    harness = None
    if request.harness.id != NO_HARNESS:
        harness = build("harness", request.harness, "--harness-params")
    environment = build("environment", request.environment, "--env-params")
    if faults:
        raise ConfigInvalid(faults)
    if harness is None and not isinstance(benchmark, RunsItself):
        raise UsageError(
            f"harness 'none' is for a benchmark that runs its own agent, and"
            f" {request.benchmark.id!r} does not; choose one of: {', '.join(known('harness'))}"
        )
    return _Parts(benchmark=benchmark, harness=harness, environment=environment)


def _check_wishes(wish: EnvironmentSpec, able: Capabilities) -> None:
    """Refuse what the user asks of a provider that cannot give it; a task's wishes come later."""
    asked: set[str] = set()
    for setup, resources in (
        (wish.setup, wish.resources),
        (wish.evaluation_setup, wish.evaluation_resources),
    ):
        plan = EnvironmentPlan(
            id=wish.id, setup=setup or EnvironmentSetup(), resources=resources or Resources()
        )
        asked |= asked_for(plan) - able.gives
    policies = (wish.network_policy, wish.run_network_policy, wish.verifier_network_policy)
    modes = {policy.network_mode for policy in policies if policy is not None}
    asked |= {f"network mode {mode}" for mode in modes - able.network_modes}
    if asked:
        raise UsageError(
            f"--env-params: environment {wish.id!r} cannot give {', '.join(sorted(asked))};"
            " leave it out or choose another --env"
        )


@runtime_checkable
class TalksItself(Protocol):
    """A harness whose program calls the model itself: nothing else sees, or answers, its calls."""

    talks_itself: ClassVar[bool]


async def _model(request: RunRequest, parts: _Parts, redactor: Redactor) -> Model | None:
    if parts.harness is not None and not parts.harness.needs_model:
        return None
    if isinstance(parts.harness, TalksItself) and request.model.params.get("record"):
        raise UsageError(
            f"--model-params: record: harness {request.harness.id!r} runs a program that calls the"
            " model itself, so that there is nothing to record"
        )
    protocol = _protocol(request, parts.harness)
    recorded = None
    if protocol == REPLAY:
        recorded = await trio.to_thread.run_sync(_recorded_calls, request, redactor)
    model: type[Model] = load("model", protocol)
    return model(
        request.model,
        replies=parts.benchmark.replies if recorded is None else recorded,
        connections=request.execution.task_concurrency,
    )


def _recorded_calls(request: RunRequest, redactor: Redactor) -> RecordedCalls | None:
    """Those of the earlier run that is to be replayed; None where it is a script."""
    path = request.model.params.get("path")
    if not isinstance(path, str) or not (directory := Path(path).expanduser()).is_dir():
        return None
    return open_recorded_calls(directory, request.benchmark.id, redactor)


def _protocol(request: RunRequest, harness: Harness | None) -> str:
    """The first wanted protocol that the harness speaks; with no wish, the harness's first."""
    spoken = ("openai-chat", *known("model")) if harness is None else tuple(harness.protocols)
    if not isinstance(harness, TalksItself):
        spoken = tuple(dict.fromkeys((*spoken, REPLAY)))  # to who asks through us, all answer alike
    wanted = request.model.api_protocol
    names = (wanted,) if isinstance(wanted, str) else tuple(wanted)
    names = tuple(name for name in names if name not in ("", "auto"))
    if not names:
        return spoken[0]
    for name in names:
        load("model", name)
    chosen = next((name for name in names if name in spoken), None)
    if chosen is None:
        raise UsageError(
            f"--model-api-protocol: harness {request.harness.id!r} speaks"
            f" {', '.join(spoken)}, not {', '.join(names)}"
        )
    return chosen


def _check_price(request: RunRequest, model: Model) -> None:
    """Refuse a budget in dollars where no price is known: it could bound nothing."""
    options = request.execution
    budgets = {"attempt_budget": options.attempt_budget, "run_budget": options.run_budget}
    asked = [name for name, budget in budgets.items() if budget.max_cost_usd is not None]
    nothing = Usage(prompt_tokens=0, completion_tokens=0)
    if asked and isinstance(model, PricesCalls) and model.cost(nothing) is None:
        raise UsageError(
            f"--execution-params: {asked[0]}.max_cost_usd cannot be held, since no price of model"
            f" {request.model.id!r} is known; give it in US dollars for a million tokens:"
            """ --model-params '{"prices": {"input": ..., "output": ...}}'"""
        )


def _opener(
    request: RunRequest,
    options: ProcessOptions,
    location: RunLocation,
    redactor: Redactor,
    on_open: Callable[[Path], None] | None,
) -> Callable[[CleanupClock], AbstractAsyncContextManager[Store]]:
    @asynccontextmanager
    async def open_store(cleanup: CleanupClock) -> AsyncIterator[Store]:
        async with open_run(
            location,
            request=request,
            redactor=redactor,
            cleanup=cleanup,
            file_log_level=options.file_log_level,
            log_file=options.log_file,
        ) as store:
            if on_open is not None:
                on_open(store.directory)
            yield store

    return open_store
