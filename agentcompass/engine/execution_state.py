"""What one execution has found so far; it outlives whatever ends the execution."""

import logging
import traceback
from pathlib import Path

import attrs

from agentcompass.engine.budget import Account
from agentcompass.engine.events import TaskEvents
from agentcompass.engine.job import Run
from agentcompass.errors import AgentCompassError, ExecutionError
from agentcompass.records.artifacts import ArtifactManifest
from agentcompass.records.environment import ExecResult
from agentcompass.records.issue import Issue, PhaseName, highest_severity
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.task import PreparedTask, RunResult, TaskSpec

log = logging.getLogger(__name__)

_TAIL = 10_000  # characters


@attrs.define(eq=False, kw_only=True)
class Execution:
    """One physical try of an attempt: the plan it follows, the phase it is in, its result.

    `account` is the attempt's, and has what the model calls of its executions took together.

    `agent_result` is set once the agent's work is complete and saved; scoring starts from a copy
    of it each time, so that a scoring retry sees nothing of the one before.
    """

    run: Run
    events: TaskEvents
    task: TaskSpec
    number: int
    plan: ExecutionPlan
    account: Account
    phase: str = "plan"
    result: RunResult = attrs.field()
    prepared: PreparedTask | None = None
    manifest: ArtifactManifest | None = None
    agent_result: RunResult | None = None

    @result.default
    def _new_result(self) -> RunResult:
        return RunResult(
            task_id=self.task.task_id,
            category=self.task.category,
            ground_truth=self.task.ground_truth,
        )

    @property
    def name(self) -> str:
        """The attempt as people and logs call it."""
        return f"task {self.task.task_id} attempt {self.number}"

    @property
    def key(self) -> tuple[str, int]:
        """The attempt among those of the run."""
        return self.task.task_id, self.number

    @property
    def artifacts_dir(self) -> Path:
        """Where the attempt's artifacts are on the host."""
        return self.run.store.artifacts_dir(self.task.task_id, self.number)

    @property
    def artifacts_reference(self) -> str:
        """The same, relative to the run directory."""
        return self.artifacts_dir.relative_to(self.run.store.directory).as_posix()

    @property
    def may_score(self) -> bool:
        """Whether there is work of an agent to score: it ended without a FATAL issue."""
        return self.agent_result is not None and not self.is_fatal

    @property
    def may_rescore(self) -> bool:
        """Whether scoring can be retried alone: the work is saved, its session is not needed."""
        return self.agent_result is not None and self.plan.evaluation_mode != "reuse"

    def enter(self, phase: str, **payload: object) -> None:
        """Go to the next phase and say so."""
        self.phase = phase
        self.events.phase(phase, self.number, **payload)

    def add_issue(self, issue: Issue) -> None:
        """Record a fault, without any secret in its text."""
        message = self.run.job.redactor.text(issue.message)
        self.result.add_issue(attrs.evolve(issue, message=message))

    def fail(self, issue: Issue, error: BaseException) -> None:
        """Record a fault that nobody foresaw; of a bug, keep where it was."""
        self.result.mend()
        self.add_issue(issue)
        if not isinstance(error, AgentCompassError):
            text = self.run.job.redactor.text("".join(traceback.format_exception(error)))
            self.result.artifacts["execution_diagnostics"] = text
            log.error("%s: %s", self.name, text)

    def check_result(self, error: type[ExecutionError], author: str) -> None:
        """Raise `error` where `author` left a result that is none; what is wrong in it is gone."""
        if wrong := self.result.mend():
            raise error(f"{author} left a result with something else in {', '.join(wrong)}")

    def keep_output(self, command: str, ended: ExecResult) -> None:
        """Keep the ends of what a command had printed when its phase ran out of time."""
        self.result.artifacts["cut_off"] = {
            "phase": self.phase,
            "command": command,
            "seconds": round(ended.seconds, 3),
            "stdout": _end(ended.stdout),
            "stderr": _end(ended.stderr),
        }

    def close_fault(self, message: str) -> None:
        """Record that something could not be cleaned up; the result stands.

        Said at once as well, since the result of a cancelled attempt is not written.
        """
        log.warning("%s: %s", self.name, message)
        self.warn("cleanup", "environment_failed", message)

    def warn(self, phase: PhaseName, code: str, message: str) -> None:
        """Record a warning."""
        self.add_issue(Issue(severity="warning", phase=phase, code=code, message=message))

    def keep_agent_result(self) -> None:
        """Fix the agent's work; from here on scoring works on copies."""
        self.agent_result = self.result

    def begin_scoring(self) -> None:
        """Start from the agent's work: containers are copied, the trajectory is shared."""
        assert self.agent_result is not None, "scoring begins after keep_agent_result"
        self.result = attrs.evolve(
            self.agent_result,
            issues=list(self.agent_result.issues),
            metrics=dict(self.agent_result.metrics),
            artifacts=dict(self.agent_result.artifacts),
            extra=dict(self.agent_result.extra),
            telemetry=dict(self.agent_result.telemetry),
        )

    @property
    def severity(self) -> str:
        """The heaviest severity among the issues, or an empty string."""
        issues = self.result.issues  # none, nearly always, and asked for again and again
        return highest_severity(issues) if issues else ""

    @property
    def is_fatal(self) -> bool:
        """Whether a FATAL issue has ended this execution."""
        return self.severity == "fatal"


def _end(output: str) -> str:
    left_out = len(output) - _TAIL
    return output if left_out <= 0 else f"({left_out} characters left out)\n{output[-_TAIL:]}"
