"""The entry points for programs: a request, or the summary or copy of an earlier run."""

import inspect
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import trio

from agentcompass.config.keywords import config_paths
from agentcompass.config.resolve import resolve_run
from agentcompass.config.secrets import known_in, known_secrets
from agentcompass.engine.job import Job
from agentcompass.engine.limits import set_provider_limits
from agentcompass.engine.request import Outcome
from agentcompass.engine.tree import run_job
from agentcompass.errors import RequestFailed, RequestTimeout, UsageError
from agentcompass.exporting.attempts import Source
from agentcompass.exporting.write import write_export
from agentcompass.metrics.summary import summary_mapping
from agentcompass.preflight import prepare_job
from agentcompass.progress.console import console_logging
from agentcompass.progress.terminal import terminal
from agentcompass.protocols import Reporter
from agentcompass.records.convert import unstructure
from agentcompass.records.progress import ProgressEvent
from agentcompass.records.request import ProcessOptions, RunRequest
from agentcompass.store.layout import RunLayout
from agentcompass.store.redact import Redactor
from agentcompass.summarizing.summarize import summarize

log = logging.getLogger(__name__)


def run_evaluation(
    *, on_progress: Callable[[ProgressEvent], None] | None = None, **settings: Any
) -> dict[str, Any]:
    """Run one request and return `metadata`, `metrics`, `summary` and `paths`.

    The keywords are those of `agentcompass run` with underscores (docs/sdk.md lists them). Raises
    `UsageError` before anything is created, `RequestFailed` for final FATAL issues and
    `RequestTimeout` past the request's deadline; both carry the `result`.
    """
    _refuse_inside_a_loop("run_evaluation")
    return trio.run(partial(async_run_evaluation, on_progress=on_progress, **settings))


async def async_run_evaluation(
    *, on_progress: Callable[[ProgressEvent], None] | None = None, **settings: Any
) -> dict[str, Any]:
    """`run_evaluation` on the trio run of the caller, whose cancellation it honours.

    Progress and log records go to stderr, unless `progress` is `none`.
    """
    _require_trio("run_evaluation")
    listeners = _listeners(on_progress)
    resolved = resolve_run(settings, cwd=Path.cwd(), environ=os.environ)
    options = resolved.options
    if options.progress == "none":
        return await evaluate(resolved.request, options, reporters=listeners)
    redactor = Redactor(known_secrets(resolved.request, os.environ))
    async with terminal(options.progress, sys.stderr) as display:
        with console_logging(display.say, options.log_level, redactor):
            reporters = [display, *listeners]
            return await evaluate(resolved.request, options, reporters=reporters, redactor=redactor)


async def evaluate(
    request: RunRequest,
    options: ProcessOptions,
    *,
    reporters: Sequence[Reporter] = (),
    on_open: Callable[[Path], None] | None = None,
    redactor: Redactor | None = None,
) -> dict[str, Any]:
    """Run a resolved request; `on_open` is told its run directory. Raises as `run_evaluation`.

    `redactor` learns what turns out to be secret, for what the caller itself shows.
    """
    set_provider_limits(options.provider_limits, options.env_open_qps)
    job = await prepare_job(
        request,
        options,
        listeners=[reporter.emit for reporter in reporters],
        on_open=on_open,
        redactor=redactor,
    )
    outcome = await run_job(job)
    result = _result(job, outcome)
    if outcome.status == "timed_out":
        raise RequestTimeout(outcome.error or "request deadline exceeded", result=result)
    if outcome.status == "failed":
        raise RequestFailed(outcome.error or "request failed", result=result)
    return result


def summary(**settings: Any) -> dict[str, Any]:
    """Make the report of a run directory anew; the keywords are those of `async_summary`."""
    _refuse_inside_a_loop("summary")
    return trio.run(partial(async_summary, **settings))


async def async_summary(
    *,
    run_dir: str | os.PathLike[str],
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
    _require_trio("summary")
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
    return {**result, "paths": _run_paths(directory), "dry_run": dry_run}


def export_run(**settings: Any) -> Mapping[str, str]:
    """Write a run for another program; the keywords are those of `async_export_run`."""
    _refuse_inside_a_loop("export_run")
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
    copied = _paths(RunLayout(written)) if format == "peer" else {}
    return {"output": str(written), **copied}


@attrs.define(eq=False)
class _Callback:
    """A caller's function as a reporter; what it raises is the caller's and costs it the rest."""

    function: Callable[[ProgressEvent], None] | None

    def emit(self, event: ProgressEvent) -> None:
        """Tell the caller, unless it failed before."""
        if self.function is not None:
            try:
                self.function(event)
            except Exception:
                self.function = None
                log.exception("on_progress failed and is not called any more; the run goes on")


def _listeners(on_progress: Callable[[ProgressEvent], None] | None) -> list[Reporter]:
    if on_progress is None:
        return []
    if not callable(on_progress) or inspect.iscoroutinefunction(on_progress):
        raise UsageError(f"on_progress: expected a function that is not async, got {on_progress!r}")
    return [_Callback(on_progress)]


def _refuse_inside_a_loop(name: str) -> None:
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return
    raise UsageError(f"{name}() cannot run inside trio; await async_{name}() there")


def _require_trio(name: str) -> None:
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        raise UsageError(
            f"async_{name}() runs on trio; in another event loop call {name}() in a thread"
        ) from None


def _result(job: Job, outcome: Outcome) -> dict[str, Any]:
    """What the SDK returns (docs/sdk.md)."""
    request = job.request
    return {
        "evaluation_failed": outcome.report.evaluation_failed,
        "metadata": {
            "model": request.model.id,
            "benchmark": request.benchmark.id,
            "harness": request.harness.id,
            "environment": request.environment.id,
            "status": outcome.status,
            "run_id": outcome.run_id,
            "total_tasks": outcome.total_tasks,
            **unstructure(outcome.reuse),
            **outcome.spent,
            "evaluation_params": job.redactor.record(dict(request.benchmark.params)),
        },
        "metrics": unstructure(outcome.report),
        "summary": summary_mapping(outcome.report),
        "paths": _run_paths(outcome.directory),
        "applied_recipes": list(outcome.applied_recipes),
    }


def _run_paths(directory: Path) -> Mapping[str, str]:
    return {"run_dir": str(directory), **_paths(RunLayout(directory))}


def _paths(layout: RunLayout) -> Mapping[str, str]:
    return {
        "output_dir": str(layout.directory),
        "run_info": str(layout.run_info),
        "params": str(layout.params),
        "metrics_json": str(layout.metrics),
        "summary_md": str(layout.summary),
        "progress_json": str(layout.progress),
        "progress_jsonl": str(layout.events),
        "log_file": str(layout.log),
    }
