"""What is checked before anything is created: ids, parameters, providers, the model, the place."""

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import trio

from agentcompass.abilities import ChecksWishes, RunsItself
from agentcompass.config.components import build_component, component_class, defaults
from agentcompass.config.secrets import known_secrets
from agentcompass.deadlines import CleanupClock
from agentcompass.dependencies import require
from agentcompass.engine.job import Job, Store
from agentcompass.engine.limits import Limits
from agentcompass.engine.lines import Tokens
from agentcompass.engine.plan import asked_for
from agentcompass.engine.planning import mode_fault
from agentcompass.engine.retry import retry_policy
from agentcompass.errors import ConfigInvalid, UsageError
from agentcompass.model_choice import choose_model
from agentcompass.plugin_edge import plugin_edge
from agentcompass.protocols import Benchmark, Capabilities, Environment, Harness
from agentcompass.recipe_choice import choose_recipes
from agentcompass.records.environment import (
    EnvironmentPlan,
    EnvironmentSetup,
    Resources,
)
from agentcompass.records.needs import Needs
from agentcompass.records.progress import ProgressEvent
from agentcompass.records.request import EnvironmentSpec, ProcessOptions, RunRequest
from agentcompass.registry import Kind, is_own, known
from agentcompass.store.location import RunLocation, check_location, run_location
from agentcompass.store.redact import Redactor
from agentcompass.store.reuse_source import check_named_source, find_reuse_source
from agentcompass.store.runs import open_run

if TYPE_CHECKING:
    from agentcompass.datasets.for_run import RunData

# The harness id of a benchmark that runs its own agent loop.
NO_HARNESS = "none"

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
    await _require(request, options)
    parts = _build(request)
    await _check_environment(request.environment, parts)
    folders = dict.fromkeys((*request.metadata.get("recipe_dirs", ()), *options.recipe_dirs))
    recipes = choose_recipes(request.execution.enabled_recipes, tuple(folders))
    data = await _data(request, options, parts.benchmark)
    redactor = redactor or Redactor()
    model = await choose_model(request, parts.benchmark, parts.harness, redactor)
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
        recipes=recipes,
        limits=Limits(Tokens(request.execution.task_concurrency)),
        retry=retry_policy(request.execution),
        data_dir=Path(options.data_dir),
        data=data,
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


async def _check_environment(wish: EnvironmentSpec, parts: _Parts) -> None:
    _check_wishes(wish, parts.environment.capabilities)
    if fault := mode_fault(parts.benchmark, wish.evaluation_mode):
        raise UsageError(f"--env-params: {fault}")
    with plugin_edge(f"environment {wish.id!r}: preflight"):
        await parts.environment.preflight()
        if isinstance(parts.environment, ChecksWishes):
            await parts.environment.check(wish)


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


async def _require(request: RunRequest, options: ProcessOptions) -> None:
    """Have what each component needs on the host; ours may be installed, others' never."""
    chosen: dict[Kind, str] = {
        "benchmark": request.benchmark.id,
        "harness": request.harness.id,
        "environment": request.environment.id,
    }
    for kind, component_id in chosen.items():
        if component_id == NO_HARNESS:
            continue
        needs = getattr(component_class(kind, component_id), "needs", None)
        if isinstance(needs, Needs):
            install = options.auto_install_dependencies and is_own(kind, component_id)
            await require(f"{kind} {component_id!r}", needs, install=install)


async def _data(
    request: RunRequest, options: ProcessOptions, benchmark: Benchmark
) -> "RunData | None":
    if getattr(benchmark, "data_set", None) is None:
        return None
    from agentcompass.datasets.for_run import run_data

    params = {**defaults(benchmark.Config), **request.benchmark.params}
    may_fetch = params.get("download") is not False
    data = run_data(benchmark, Path(options.data_dir), may_fetch=may_fetch)
    if data is not None:
        await trio.to_thread.run_sync(data.check)
        if needs := await trio.to_thread.run_sync(data.needs):
            own = is_own("benchmark", request.benchmark.id)
            install = options.auto_install_dependencies and own
            await require(f"data set {data.place.data_set.id!r}", needs, install=install)
    return data


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
