"""What of an earlier run counts in this one. Pure."""

from collections.abc import Mapping

import attrs

from agentcompass.engine.retry import RetryPolicy
from agentcompass.records.attempt import AttemptResult
from agentcompass.records.checkpoint import EvaluationCheckpoint
from agentcompass.records.issue import highest_severity
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.request import AttemptPlan
from agentcompass.records.reuse import EarlierAttempt, Verdict

_GOOD = ("completed", "skipped")


@attrs.frozen(kw_only=True)
class Judge:
    """Decides, attempt by attempt, by the metric that matters and the current retry policy.

    `may_resume` is whether saved work may be scored without running the agent again.
    """

    primary: str
    retry: RetryPolicy
    may_resume: bool = True

    def verdict(self, found: EarlierAttempt) -> Verdict:
        """Keep what is complete and would not be retried now; score saved work that lacks a
        verdict; execute everything else.
        """
        resumable = found.has_checkpoint and self.may_resume
        otherwise: Verdict = "resume" if resumable else "execute"
        result = found.result
        if result is None:
            return otherwise
        severity = highest_severity(result.issues)
        if severity == "fatal":
            return otherwise if _failed_in_scoring_alone(result) else "execute"
        if not found.is_classified and result.status not in _GOOD:
            return "execute"
        if severity == "error" and (again := self._retried(result, resumable=resumable)):
            return again
        has_verdict = self.primary in result.metrics or result.status == "skipped"
        return "keep" if has_verdict else otherwise

    def completes(self, plan: AttemptPlan, kept: Mapping[int, AttemptResult]) -> bool:
        """Whether the kept attempts of a task leave nothing to do.

        Under strategy `pass` those up to the first success have to be there: one that was FATAL
        voids the task, and is executed again.
        """
        for number in plan.numbers:
            if number not in kept:
                return False
            if plan.strategy == "pass" and succeeded(kept[number]):
                return True
        return True

    def _retried(self, result: AttemptResult, *, resumable: bool) -> Verdict | None:
        retry = self.retry.decide(result.issues, used=0, may_rescore=resumable)
        if retry is None:
            return None
        return "resume" if retry.scope == "evaluate" else "execute"


def _failed_in_scoring_alone(result: AttemptResult) -> bool:
    return all(issue.phase == "evaluate" for issue in result.issues if issue.severity == "fatal")


def succeeded(result: AttemptResult) -> bool:
    """Whether an attempt solved its task, which under strategy `pass` ends it."""
    fatal = highest_severity(result.issues) == "fatal"
    return not fatal and result.metrics.get("correct") is True


def why_not_resumable(
    checkpoint: EvaluationCheckpoint, plan: ExecutionPlan, *, attempt: int
) -> str | None:
    """Why saved work cannot be scored as that of `attempt` under `plan`, or None where it can."""
    if (checkpoint.task_id, checkpoint.attempt) != (plan.task_id, attempt):
        return f"it is of task {checkpoint.task_id!r} attempt {checkpoint.attempt}"
    if not checkpoint.run_completed:
        return "the agent had not finished"
    if plan.evaluation_mode != checkpoint.source_evaluation_mode:
        return (
            f"it was saved for evaluation mode {checkpoint.source_evaluation_mode!r},"
            f" and this run scores in mode {plan.evaluation_mode!r}"
        )
    manifest = checkpoint.artifacts
    entries = () if manifest is None else manifest.entries
    known = {e.source for e in entries if e.status in ("collected", "missing", "excluded")}
    lacking = [spec.source for spec in plan.artifacts if spec.source not in known]
    return f"artifact {lacking[0]} was not collected then" if lacking else None
