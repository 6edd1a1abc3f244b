"""From an execution to what is written of it: the attempt's result and its checkpoint."""

from typing import Any

import attrs

from agentcompass.engine.execution_state import Execution
from agentcompass.metrics.observations import check_metrics
from agentcompass.records.attempt import AttemptResult
from agentcompass.records.checkpoint import EvaluationCheckpoint
from agentcompass.records.convert import unstructure
from agentcompass.records.issue import Issue, highest_severity, status_from_issues
from agentcompass.records.metrics import MetricInvalid
from agentcompass.records.task import RunResult, RunStatus


def attempt_result(execution: Execution, *, retry_count: int) -> AttemptResult:
    """The record of an attempt whose last execution was `execution`."""
    result = execution.result
    artifacts = dict(result.artifacts)
    if execution.manifest is not None:
        artifacts["declared_artifacts"] = unstructure(execution.manifest)
    return AttemptResult(
        status=_status(result),
        metrics=_counted(execution),
        final_answer=result.final_answer,
        trajectory=result.trajectory,
        issues=tuple(result.issues),
        artifacts=artifacts,
        analysis_result={},
        meta={"benchmark": _benchmark_meta(result), "harness": _harness_meta(result)},
        retry_count=retry_count,
    )


def _status(result: RunResult) -> RunStatus:
    if highest_severity(result.issues) in ("", "warning"):
        return "skipped" if result.status == "skipped" else "completed"
    return status_from_issues(result.issues)


def _counted(execution: Execution) -> dict[str, bool | float]:
    """What can be counted: scoring that failed half-way may have left anything, and an issue."""
    metrics, contract = execution.result.metrics, execution.run.contract
    try:
        check_metrics(metrics, contract, task_id=execution.task.task_id, attempt=execution.number)
    except MetricInvalid:
        return {}
    return {
        name: value if isinstance(value, bool) else float(value) for name, value in metrics.items()
    }


def _benchmark_meta(result: RunResult) -> dict[str, Any]:
    return {**(result.meta or {}), **result.extra}


def _harness_meta(result: RunResult) -> dict[str, Any]:
    return {"telemetry": result.telemetry} if result.telemetry else {}


def unsaved_result(result: AttemptResult, fault: str) -> AttemptResult:
    """The same attempt as FATAL, since its record could not be written."""
    issue = Issue(severity="fatal", phase="cleanup", code="store_error", message=fault)
    return attrs.evolve(result, issues=(*result.issues, issue))


def evaluation_checkpoint(execution: Execution) -> EvaluationCheckpoint:
    """What a later scoring of the same work needs (agentcompass.evaluation_checkpoint.v4)."""
    assert execution.agent_result is not None, "saved once the agent's work is complete"
    assert execution.prepared is not None, "prepared before the agent"
    return EvaluationCheckpoint(
        task_id=execution.task.task_id,
        attempt=execution.number,
        source_run_id=execution.run.store.run_id,
        source_evaluation_mode=execution.plan.evaluation_mode,
        run_completed=True,
        artifacts=execution.manifest,
        run_result=execution.agent_result,
        prepared_task=execution.prepared,
        network_policy=execution.plan.verifier_network_policy,
    )
