"""What an Inspect log says of a run as a whole; pure.

The fields are those of `EvalLog` in PyPI `inspect-ai` 0.3.285.
"""

import hashlib
import math
from collections.abc import Mapping
from typing import Any

import attrs

from agentcompass.config.merge import pick
from agentcompass.exporting.inspect_sample import instant, sample_id
from agentcompass.exporting.inspect_usage import Usage, added
from agentcompass.exporting.text import shallow
from agentcompass.metrics.summary import CUT_SHORT, headline
from agentcompass.records.convert import unstructure
from agentcompass.records.metrics import MetricReport, MetricSeries
from agentcompass.records.run_info import RunInfo
from agentcompass.summarizing.recorded import Recorded

Record = Mapping[str, Any]

VERSION = 2
_STATUS = {"completed": "success", "cancelled": "cancelled", None: "started"}
_REDUCED = {"avg": "mean", "pass": "max"}
_EPOCH = "1970-01-01T00:00:00+00:00"
# Inspect's names of our limits.
_LIMITS = {
    ("task_concurrency",): "max_samples",
    ("max_retries",): "retry_on_error",
    ("run_timeout_seconds",): "time_limit",
    ("attempt_budget", "max_total_tokens"): "token_limit",
}


@attrs.define
class Tally:
    """What the samples come to."""

    samples: int = 0
    faulty: int = 0
    usage: dict[str, Usage] = attrs.field(factory=dict)

    def count(self, sample: Record) -> None:
        """Take a sample in."""
        self.samples += 1
        self.faulty += sample["error"] is not None
        for model, usage in sample["model_usage"].items():
            self.usage[model] = added(self.usage.get(model, {}), usage)


def header_of(run: Recorded, report: MetricReport, tally: Tally) -> dict[str, Any]:
    """The log without its samples."""
    log = {
        "version": VERSION,
        "status": _STATUS.get(run.info.status, "error"),
        "eval": _spec(run),
        "plan": _plan(run.request),
        "results": _results(run, report, tally),
        "stats": _stats(run, tally),
    }
    return {**log, "error": _error(run.info, report)} if log["status"] == "error" else log


def log_name(run: Recorded) -> str:
    """A file name as Inspect gives it, without a suffix: time, task, and what keeps runs apart."""
    stamp = _created(run.info).replace(":", "-")
    names = (stamp, run.benchmark_id, _digest(run.info))
    return "_".join("".join(c if c.isalnum() or c in "+-." else "-" for c in n) for n in names)


def _digest(info: RunInfo) -> str:
    named = f"{info.run_id} {info.started_at} {pick(info.request, ('output', 'run_name'), '')}"
    return hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:22]


def _created(info: RunInfo) -> str:
    found = instant(info.started_at)
    return found.isoformat(timespec="seconds") if found else _EPOCH


def _spec(run: Recorded) -> dict[str, Any]:
    info, request = run.info, run.request
    ids = list(run.observed) if info.task_ids is None else info.task_ids
    harness = _part(request, "harness")
    return {
        "eval_id": _digest(info),
        "run_id": info.run_id,
        "created": _created(info),
        "task": run.benchmark_id,
        "task_id": _digest(info),
        "task_args": shallow(unstructure(run.benchmark_params)),
        "solver": harness.get("id"),
        "solver_args": shallow(harness.get("params") or {}),
        "dataset": {
            "name": run.benchmark_id,
            "samples": len(ids),
            "sample_ids": [sample_id(task_id) for task_id in ids],
        },
        "model": run.model_id,
        "model_base_url": pick(request, ("model", "base_url")) or None,
        "model_args": shallow(_part(_part(request, "model"), "params")),
        "config": _config(run),
        "metadata": shallow(_metadata(run)),
    }


def _part(section: Record, name: str) -> dict[str, Any]:
    found = section.get(name)
    return dict(found) if isinstance(found, Mapping) else {}


def _config(run: Recorded) -> dict[str, Any]:
    limits = {
        theirs: math.ceil(value)
        for ours, theirs in _LIMITS.items()
        if isinstance(value := pick(run.request, ("execution", *ours)), int | float)
    }
    return {
        "epochs": run.plan.k,
        "epochs_reducer": [_REDUCED[run.plan.strategy]],
        "cost_limit": pick(run.request, ("execution", "attempt_budget", "max_cost_usd")),
        **limits,
    }


def _metadata(run: Recorded) -> dict[str, Any]:
    info = run.info
    return {
        "agentcompass_status": info.status,
        "agentcompass_request": unstructure(run.request),
        "reused_from": unstructure(info.reused_from),
        "unsaved_tasks": list(info.unsaved_tasks or ()),
        "left_out": list(run.left_out),
    }


def _plan(request: Record) -> dict[str, Any]:
    harness = _part(request, "harness")
    step = {"solver": str(harness.get("id")), "params": shallow(harness.get("params") or {})}
    return {"name": "plan", "steps": [step]}


def _results(run: Recorded, report: MetricReport, tally: Tally) -> dict[str, Any]:
    tasks = report.series[0].counts.total if report.series else 0
    best = headline(report)
    return {
        "total_samples": tasks * run.plan.k,
        "completed_samples": tally.samples - tally.faulty,
        "logged_samples": tally.samples,
        "scores": [_score(series) for series in report.series],
        **({"headline": {"scorer": best.metric_id, "metric": _metric(best)}} if best else {}),
        "metadata": {
            "evaluation_failed": report.evaluation_failed,
            "aggregation": report.aggregation,
            "strategy": report.strategy,
        },
    }


def _score(series: MetricSeries) -> dict[str, Any]:
    """One series; the values of a failed evaluation, which are not official, say so by name."""
    found = {_metric(series): series.value, "reference": series.reference_value}
    counts = series.counts
    return {
        "name": series.metric_id,
        "scorer": series.metric_id,
        "reducer": series.reducer,
        "scored_samples": counts.evaluated,
        "unscored_samples": counts.total - counts.evaluated,
        "metrics": {
            name: {"name": name, "value": value}
            for name, value in found.items()
            if value is not None
        },
        "metadata": unstructure(series),
    }


def _metric(series: MetricSeries) -> str:
    return f"{series.reducer}@{series.k}"


def _stats(run: Recorded, tally: Tally) -> dict[str, Any]:
    ended = instant(run.info.finished_at)
    return {
        "started_at": _created(run.info),
        "completed_at": ended.isoformat() if ended else "",
        "model_usage": tally.usage,
    }


def _error(info: RunInfo, report: MetricReport) -> dict[str, Any]:
    series = headline(report)
    voided = series.counts.invalidated if series else 0
    said = info.error or CUT_SHORT.get(info.status) or str(info.status)
    if info.status == "failed" and voided:
        tasks = "1 task has" if voided == 1 else f"{voided} tasks have"
        said = f"{tasks} a FATAL issue: no official score"
    return {"message": said, "traceback": said, "traceback_ansi": said}
