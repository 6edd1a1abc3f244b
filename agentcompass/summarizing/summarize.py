"""From a run directory to its summary, and back into it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentcompass.config.merge import pick
from agentcompass.config.secrets import known_in
from agentcompass.config.summary_params import summary_params
from agentcompass.metrics.summary import CUT_SHORT, headline, render_summary, summary_mapping
from agentcompass.records.convert import unstructure
from agentcompass.records.metrics import MetricReport
from agentcompass.records.run_info import RunInfo
from agentcompass.store.redact import Redactor
from agentcompass.store.reports import regenerate_report
from agentcompass.summarizing.recorded import Recorded, read_run
from agentcompass.summarizing.report import report_on


def summarize(
    directory: Path,
    *,
    benchmark_params: Mapping[str, Any],
    files: Sequence[str],
    dry_run: bool,
    environ: Mapping[str, str],
    spell: Callable[[str], str] = str,
) -> dict[str, Any]:
    """Read a run, report on it, and unless `dry_run` replace its report; blocking.

    Returns what the SDK does, but for the paths (docs/sdk.md).
    """
    run = read_run(directory)
    override = summary_params(
        run.benchmark_id, benchmark_params, files, cwd=Path.cwd(), spell=spell
    )
    report = report_on(run, override, spell=spell)
    text = _render(run, report)
    redactor = Redactor(known_in(dict(environ)))
    if not dry_run:
        regenerate_report(directory, report, text, override=override, redactor=redactor)
    return {
        "evaluation_failed": report.evaluation_failed,
        "metadata": {
            **_metadata(run, report),
            "evaluation_params": redactor.record(_asked(run, override)),
        },
        "metrics": unstructure(report),
        "summary": summary_mapping(report),
        "markdown": redactor.known(text),
    }


def _asked(run: Recorded, override: Mapping[str, Any]) -> dict[str, Any]:
    """The request on record, with the parameters that this report was made with."""
    benchmark = {"id": run.benchmark_id, "params": {**run.benchmark_params, **override}}
    return {**run.request, "benchmark": benchmark}


def _metadata(run: Recorded, report: MetricReport) -> dict[str, Any]:
    ids = ("model", "benchmark", "harness", "environment")
    series = headline(report)
    return {
        **{name: pick(run.request, (name, "id")) for name in ids},
        "benchmark_type": pick(run.request, ("environment", "id")),
        "status": run.info.status,
        "run_id": run.info.run_id,
        "total_tasks": series.counts.total if series else 0,
        "left_out": list(run.left_out),
    }


def _render(run: Recorded, report: MetricReport) -> str:
    """The text of summary.md."""
    return render_summary(
        report, benchmark_id=run.benchmark_id, model_id=run.model_id, cut_short=_cut_short(run.info)
    )


def _cut_short(info: RunInfo) -> str | None:
    reason = info.budget_used_up or CUT_SHORT.get(info.status)
    if reason is None or info.task_ids is not None:
        return reason
    return f"{reason}, and the selected tasks are not on record"
