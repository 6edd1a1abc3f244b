"""One resolved request, from its preflight to the result that programs get."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentcompass.engine.job import Job
from agentcompass.engine.limits import set_provider_limits
from agentcompass.engine.request import Outcome
from agentcompass.engine.tree import run_job
from agentcompass.errors import PluginFailed, RequestFailed, RequestTimeout
from agentcompass.groups import bare_interrupts
from agentcompass.metrics.summary import summary_mapping
from agentcompass.preflight import prepare_job
from agentcompass.protocols import Reporter
from agentcompass.records.convert import unstructure
from agentcompass.records.request import ProcessOptions, RunRequest
from agentcompass.store.layout import RunLayout
from agentcompass.store.provenance import request_document
from agentcompass.store.redact import Redactor


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
    job = await prepare_job(
        request,
        options,
        listeners=[reporter.emit for reporter in reporters],
        on_open=on_open,
        redactor=redactor,
    )
    set_provider_limits(options.provider_limits, options.env_open_qps)
    return await run_to_result(job)


async def run_to_result(
    job: Job, *, on_end: Callable[[dict[str, Any]], None] = lambda _result: None
) -> dict[str, Any]:
    """Run a prepared request, to the mapping that `run_evaluation` returns; raises as it does.

    `on_end` is told the result, also where a cancellation is passed on.
    """
    result: dict[str, Any] = {}

    def ended(outcome: Outcome) -> None:
        result.update(_result(job, outcome))
        on_end(result)

    try:
        with bare_interrupts():
            outcome = await run_job(job, on_end=ended)
    except PluginFailed as error:
        if not result:
            raise
        raise RequestFailed(str(error), result=result) from error
    if outcome.status == "timed_out":
        raise RequestTimeout(outcome.error or "request deadline exceeded", result=result)
    if outcome.status == "failed":
        raise RequestFailed(outcome.error or "request failed", result=result)
    return result


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
            "benchmark_type": request.environment.id,  # by its older name
            "status": outcome.status,
            "run_id": outcome.run_id,
            "total_tasks": outcome.total_tasks,
            **unstructure(outcome.reuse),
            **outcome.spent,
            "evaluation_params": request_document(request, outcome.run_id, job.redactor),
        },
        "metrics": unstructure(outcome.report),
        "summary": summary_mapping(outcome.report),
        "paths": run_paths(outcome.directory),
        "applied_recipes": list(outcome.applied_recipes),
    }


def run_paths(directory: Path) -> Mapping[str, str]:
    """The paths that a run's result and its summary hold."""
    return {"run_dir": str(directory), **paths(RunLayout(directory))}


def paths(layout: RunLayout) -> Mapping[str, str]:
    """The run directory and its files, by what the result calls them."""
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
