"""What of an earlier run counts in this one. Pure."""

from collections.abc import Mapping

import attrs

from agentcompass.engine.budget import RUN_CODE
from agentcompass.engine.retry import RetryPolicy
from agentcompass.metrics.observations import check_metrics
from agentcompass.records.attempt import AttemptResult
from agentcompass.records.checkpoint import EvaluationCheckpoint
from agentcompass.records.issue import Issue, gravest, highest_severity
from agentcompass.records.metrics import MetricContract, MetricInvalid
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.request import AttemptPlan
from agentcompass.records.reuse import EarlierAttempt, Judgement, Verdict

_GOOD = ("completed", "skipped")


@attrs.frozen(kw_only=True)
class Judge:
    """Decides, attempt by attempt, by what is measured now and the current retry policy.

    `may_resume` is whether saved work may be scored without running the agent again.
    """

    contract: MetricContract
    retry: RetryPolicy
    may_resume: bool = True

    def judge(self, found: EarlierAttempt) -> Judgement:
        """Keep what is complete and would not be retried now; score saved work that lacks a
        verdict; execute everything else.
        """
        resumable = found.has_checkpoint and self.may_resume
        result = found.result
        if result is None:
            return Judgement("resume" if resumable else "execute", "it did not finish")
        if again := self._retried(result, resumable=resumable):
            return again
        if not found.is_classified and result.status not in _GOOD:
            return Judgement("execute", "its failure is not classified")
        if fault := self._unscored(result):
            return Judgement("resume" if resumable else "execute", fault)
        return Judgement("keep")

    def completes(self, plan: AttemptPlan, kept: Mapping[int, AttemptResult]) -> bool:
        """Whether the kept attempts of a task leave nothing to do.

        Under strategy `pass` those up to the first success have to be there: one that was FATAL
        voids the task, and is executed again.
        """
        for number in plan.numbers:
            if number not in kept:
                return False
            if plan.strategy == "pass" and kept[number].succeeded:
                return True
        return True

    def counted(self, result: AttemptResult) -> Mapping[str, bool | float]:
        """Those of its metrics that are measured now: a later version may declare others."""
        return {name: v for name, v in result.metrics.items() if name in self.contract.specs}

    def _retried(self, result: AttemptResult, *, resumable: bool) -> Judgement | None:
        """FATAL is never kept, whatever the budget; ERROR goes by the policy."""
        cut_off = (i for i in result.issues if i.code == RUN_CODE and i.severity == "error")
        if cut_off_by := next(cut_off, None):  # its share of the run's budget was up to chance
            return Judgement("execute", cut_off_by.text)
        worst = gravest(result.issues)
        if worst is None or worst.severity == "warning":
            return None
        retry = self.retry.decide(result.issues, used=0, may_rescore=resumable)
        if worst.severity == "fatal":
            alone = resumable and all(i.phase == "evaluate" for i in _fatal(result))
            return Judgement("resume" if alone else "execute", f"fatal {worst.text}")
        if retry is None:
            return None
        verdict: Verdict = "resume" if retry.scope == "evaluate" else "execute"
        return Judgement(verdict, f"it would be retried now: {retry.reason}")

    def _unscored(self, result: AttemptResult) -> str:
        """Why its metrics do not count now, or an empty string."""
        try:
            check_metrics(self.counted(result), self.contract, task_id="", attempt=0)
        except MetricInvalid as error:
            return f"its metrics are not those of this run: {error.fault}"
        has_verdict = self.contract.primary in result.metrics or result.status == "skipped"
        return "" if has_verdict else f"it has no {self.contract.primary!r}"


def _fatal(result: AttemptResult) -> list[Issue]:
    return [issue for issue in result.issues if issue.severity == "fatal"]


def why_not_resumable(
    checkpoint: EvaluationCheckpoint, plan: ExecutionPlan, *, attempt: int
) -> str | None:
    """Why saved work cannot be scored as that of `attempt` under `plan`, or None where it can."""
    if checkpoint.attempt != attempt:
        return f"it is of attempt {checkpoint.attempt}"
    for of in (checkpoint, checkpoint.run_result, checkpoint.prepared_task):
        if of.task_id != plan.task_id:
            return f"it is of task {of.task_id!r}"
    if not checkpoint.run_completed:
        return "the agent had not finished"
    if highest_severity(checkpoint.run_result.issues) == "fatal":
        return "the agent had failed"
    if checkpoint.artifacts is not None and not checkpoint.artifacts.complete:
        return "its artifacts had not all been collected"
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
