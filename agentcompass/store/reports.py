"""metrics.json and summary.md, and on record where they come from: of an open run or an old one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentcompass.records.metrics import MetricReport
from agentcompass.records.run_info import MetricArtifacts
from agentcompass.store.atomic import Disk, replace_file, write_record
from agentcompass.store.encode import plain
from agentcompass.store.layout import RunLayout
from agentcompass.store.provenance import now
from agentcompass.store.redact import Redactor
from agentcompass.store.run_info_file import set_member


def write_report(
    disk: Disk, layout: RunLayout, report: MetricReport, summary_md: str, *, redactor: Redactor
) -> None:
    """Replace both files; raises `StoreError`, each being as it was or whole."""
    write_record(disk, layout.metrics, redactor.known(plain(report)), sort_keys=True)
    text = redactor.known(summary_md).encode("utf-8", "backslashreplace")
    replace_file(disk, layout.summary, text)


def metric_artifacts(
    report: MetricReport, *, source: str, override: Mapping[str, Any] | None = None
) -> MetricArtifacts:
    """What run_info.json says of the two files; `override` is for `source` summary alone."""
    return MetricArtifacts(
        generated_at=now(),
        source=source,
        report={"k": report.k, "strategy": report.strategy, "aggregation": report.aggregation},
        benchmark_params_override=override,
    )


def regenerate_report(
    directory: Path,
    report: MetricReport,
    summary_md: str,
    *,
    override: Mapping[str, Any],
    redactor: Redactor,
    disk: Disk | None = None,
) -> None:
    """Replace the report of a run that is over, and nothing else of it.

    run_info.json keeps every field but `metric_artifacts`, also those of other versions. Raises
    `StoreError`.
    """
    disk = disk or Disk()
    layout = RunLayout(directory)
    write_report(disk, layout, report, summary_md, redactor=redactor)
    origin = metric_artifacts(report, source="summary", override=redactor.record(dict(override)))
    set_member(disk, layout.run_info, "metric_artifacts", origin)
