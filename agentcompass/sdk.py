"""The entry points for programs: a request, or the summary or copy of an earlier run."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import trio

from agentcompass.callbacks import callbacks
from agentcompass.config.keywords import config_paths
from agentcompass.config.orchestration import Orchestration
from agentcompass.config.resolve import Resolved, new_request, resolve_process, resolve_run
from agentcompass.config.secrets import known_in, known_secrets
from agentcompass.evaluating import evaluate, paths, run_paths
from agentcompass.exporting.attempts import Source
from agentcompass.exporting.write import write_export
from agentcompass.launching import orchestrate
from agentcompass.loops import refuse_inside_a_loop, require_trio
from agentcompass.progress.console import console_logging
from agentcompass.progress.terminal import terminal
from agentcompass.protocols import Reporter
from agentcompass.records.orchestration import (
    OrchestrationResult,
    OrchestrationSpec,
    RequestOutcome,
)
from agentcompass.records.progress import ProgressEvent
from agentcompass.records.request import RunRequest
from agentcompass.store.layout import RunLayout
from agentcompass.store.redact import Redactor
from agentcompass.summarizing.summarize import summarize


def run_evaluation(
    *, on_progress: Callable[[ProgressEvent], None] | None = None, **settings: Any
) -> dict[str, Any]:
    """Run one request and return `metadata`, `metrics`, `summary` and `paths`.

    The keywords are those of `agentcompass run` with underscores (docs/sdk.md lists them). Raises
    `UsageError` before anything is created, `RequestFailed` for final FATAL issues and
    `RequestTimeout` past the request's deadline; both carry the `result`. `SystemExit` or
    `KeyboardInterrupt` of `on_progress` cancels the run, and leaves once that is cleaned up.
    """
    refuse_inside_a_loop("run_evaluation")
    return trio.run(partial(async_run_evaluation, on_progress=on_progress, **settings))


async def async_run_evaluation(
    *, on_progress: Callable[[ProgressEvent], None] | None = None, **settings: Any
) -> dict[str, Any]:
    """`run_evaluation` on the trio run of the caller, whose cancellation it honours.

    Progress and log records go to stderr, unless `progress` is `none`.
    """
    require_trio("async_run_evaluation", "run_evaluation")
    with callbacks(on_progress=on_progress) as told:
        resolved = resolve_run(settings, cwd=Path.cwd(), environ=os.environ)
        return await _evaluate(resolved, list(told.values()))


def build_run_request(**settings: Any) -> RunRequest:
    """The request that `run_evaluation` with these keywords would run; nothing is created.

    Settings of the process (results_dir, progress, ...) are for `run_evaluation_request`. Raises
    `ConfigInvalid` with every fault at once.
    """
    return new_request(settings, cwd=Path.cwd(), environ=os.environ)


def run_evaluation_request(
    request: RunRequest,
    *,
    on_progress: Callable[[ProgressEvent], None] | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """Run a request as it is; the rest is as in `run_evaluation`.

    The keywords are the settings of the process, `recipe_dirs` and `config_path`, of whose files
    the section `runtime` counts; without it, those that the request was made from are read again.
    """
    refuse_inside_a_loop("run_evaluation_request")
    work = partial(async_run_evaluation_request, request, on_progress=on_progress, **settings)
    return trio.run(work)


async def async_run_evaluation_request(
    request: RunRequest,
    *,
    on_progress: Callable[[ProgressEvent], None] | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """`run_evaluation_request` on the trio run of the caller, whose cancellation it honours."""
    require_trio("async_run_evaluation_request", "run_evaluation_request")
    with callbacks(on_progress=on_progress) as told:
        resolved = resolve_process(request, settings, cwd=Path.cwd(), environ=os.environ)
        return await _evaluate(resolved, list(told.values()))


async def _evaluate(resolved: Resolved, listeners: Sequence[Reporter]) -> dict[str, Any]:
    options = resolved.options
    if options.progress == "none":
        return await evaluate(resolved.request, options, reporters=listeners)
    redactor = Redactor(known_secrets(resolved.request, os.environ))
    async with terminal(options.progress, sys.stderr) as display:
        with console_logging(display.say, options.log_level, redactor):
            reporters = [display, *listeners]
            return await evaluate(resolved.request, options, reporters=reporters, redactor=redactor)


def launch(
    orchestration: OrchestrationSpec | Orchestration | Mapping[str, Any],
    *,
    on_progress: Callable[[ProgressEvent], None] | None = None,
    on_request_finished: Callable[[RequestOutcome], None] | None = None,
    **settings: Any,
) -> OrchestrationResult:
    """Run several requests on one pool of slots and return how each of them ended.

    The keywords are the options of `agentcompass launch` with underscores (docs/sdk.md); a resolved
    `Orchestration` takes those that say nothing of its requests. A request that fails is told in
    the result and ends no other. Raises `ConfigInvalid` with the faults of all requests, before
    anything is created.
    """
    refuse_inside_a_loop("launch")
    work = partial(
        async_launch,
        orchestration,
        on_progress=on_progress,
        on_request_finished=on_request_finished,
        **settings,
    )
    return trio.run(work)


async def async_launch(
    orchestration: OrchestrationSpec | Orchestration | Mapping[str, Any],
    *,
    on_progress: Callable[[ProgressEvent], None] | None = None,
    on_request_finished: Callable[[RequestOutcome], None] | None = None,
    **settings: Any,
) -> OrchestrationResult:
    """`launch` on the trio run of the caller, whose cancellation it honours.

    Progress and log records go to stderr, unless `progress` is `none`. `on_request_finished` is
    told of every request, also of those that a cancellation ends.
    """
    require_trio("async_launch", "launch")
    given = {"on_progress": on_progress, "on_request_finished": on_request_finished}
    with callbacks(**given) as told:
        if isinstance(orchestration, Orchestration):
            resolved = orchestration.with_settings(**settings)
        else:
            resolved = Orchestration.from_spec(orchestration, **settings)
        listeners = [each for name, each in told.items() if name == "on_progress"]
        ended = [each.emit for name, each in told.items() if name == "on_request_finished"]
        return await _orchestrate(resolved, listeners, ended)


async def _orchestrate(
    resolved: Orchestration,
    listeners: Sequence[Reporter],
    ended: Sequence[Callable[[RequestOutcome], None]],
) -> OrchestrationResult:
    options = resolved.runtime
    if options.progress == "none":
        return await orchestrate(resolved, reporters=listeners, ended=ended)
    redactor = Redactor()
    async with terminal(options.progress, sys.stderr, requests=resolved.names) as display:
        with console_logging(display.say, options.log_level, redactor):
            return await orchestrate(
                resolved,
                reporters=[display, *listeners],
                ended=[display.ended, *ended],
                redactor=redactor,
            )


def summary(run_dir: str | os.PathLike[str], **settings: Any) -> dict[str, Any]:
    """Make the report of a run directory anew; the keywords are those of `async_summary`."""
    refuse_inside_a_loop("summary")
    return trio.run(partial(async_summary, run_dir, **settings))


async def async_summary(
    run_dir: str | os.PathLike[str],
    *,
    benchmark_params: Mapping[str, Any] | None = None,
    config_path: str | os.PathLike[str] | Sequence[str] = (),
    dry_run: bool = False,
    spell: Callable[[str], str] = str,
) -> dict[str, Any]:
    """Aggregate the records in `run_dir`; unless `dry_run`, replace metrics.json and summary.md.

    `benchmark_params`, or section `benchmarks.<id>` of the files in `config_path`, may set
    `sample_ids`, `aggregation_mode` and `category_hierarchy`. The result has `metadata` (with
    `left_out`, the tasks that cannot be counted, each logged as a warning too), `metrics`,
    `summary`, `paths`, `markdown` and `dry_run`. `spell` tells how the caller writes a keyword, for
    messages. Raises `UsageError` for what is no run or no such parameter, and `StoreError` where
    nothing can be written.
    """
    require_trio("async_summary", "summary")
    directory = Path.cwd() / run_dir
    work = partial(
        summarize,
        directory,
        benchmark_params=benchmark_params or {},
        files=config_paths({"config_path": config_path}),
        dry_run=dry_run,
        environ=os.environ,
        spell=spell,
    )
    result = await trio.to_thread.run_sync(work, abandon_on_cancel=dry_run)
    return {**result, "paths": run_paths(directory), "dry_run": dry_run}


def export_run(**settings: Any) -> Mapping[str, str]:
    """Write a run for another program; the keywords are those of `async_export_run`."""
    refuse_inside_a_loop("export_run")
    return trio.run(partial(async_export_run, **settings))


async def async_export_run(
    *,
    run_dir: str | os.PathLike[str],
    output: str | os.PathLike[str],
    format: str = "peer",  # noqa: A002  # as the option is called
    spell: Callable[[str], str] = str,
) -> Mapping[str, str]:
    """Write the run in `run_dir` to `output` as `format` has it: `peer`, `atif` or `inspect`.

    Returns the paths of what was written, `output` first. It is there whole or not at all, and
    `run_dir` is only read. Raises `UsageError` for what is no run or none of which the format can
    tell, and where `output` is taken; `StoreError` where a file cannot be read or written.
    """
    source = Source(
        directory=Path.cwd() / run_dir,
        redactor=Redactor(known_in(dict(os.environ))),
        go_on=trio.from_thread.check_cancelled,
    )
    work = partial(write_export, source, Path.cwd() / output, form=format, spell=spell)
    written = await trio.to_thread.run_sync(work)
    copied = paths(RunLayout(written)) if format == "peer" else {}
    return {"output": str(written), **copied}
