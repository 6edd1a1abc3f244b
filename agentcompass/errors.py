"""Every error raised on purpose; the branch says how much ends.

AgentCompassError                 code, exit_code
  UsageError                      the caller must change something; before a run directory; exit 2
    ConfigInvalid                 all faults at once, each with its path
    UnknownComponent              names the known ones
    DependencyMissing             names the install command
    DataUnavailable               names the folder looked in, and what belongs there
    PluginFailed                  a plug-in's bug outside any attempt, in one line
  RequestError                    ends one request, not its siblings; exit 1
    RequestFailed                 a final FATAL issue
    RequestTimeout                exit 124
    RequestCancelled              exit 130 (SIGINT) or 143 (SIGTERM)
  ExecutionError                  ends one execution; the only retryable branch
    TaskInvalid EnvironmentFailed HarnessFailed EvaluationFailed ArtifactOverBudget PhaseTimeout
    BudgetExhausted               no further model call may be made
    ModelFailed
      ContextTooLong              the harness may shorten the conversation and go on
  StoreError                      SchemaUnsupported RecordCorrupt
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

Severity = Literal["fatal", "error", "warning"]


class AgentCompassError(Exception):
    """Anything this package raises on purpose; whatever else escapes is a bug."""

    code: str = "agentcompass_error"
    exit_code: int = 1


class UsageError(AgentCompassError):
    """The caller must change something; raised before a run directory exists."""

    code = "usage_error"
    exit_code = 2


class ConfigInvalid(UsageError):
    """One or more settings cannot be used; every fault is named with its path."""

    code = "config_invalid"

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(self.faults))

    def __reduce__(self) -> tuple[type["ConfigInvalid"], tuple[Sequence[str]]]:
        """Let it be pickled, as process pools do."""
        return type(self), (self.faults,)


class UnknownComponent(UsageError):
    """No component of this kind has that id; the message names the known ones."""

    code = "unknown_component"


class DependencyMissing(UsageError):
    """A component needs a package that is not installed; the message says how to install it."""

    code = "dependency_missing"


class DataUnavailable(UsageError):
    """A data set is not there and cannot be fetched; the message says what to put where."""

    code = "data_unavailable"


class PluginFailed(UsageError):
    """A plug-in could not be imported, built or asked; the message begins with its name."""

    code = "plugin_failed"


class RequestError(AgentCompassError):
    """Ends one request, not its siblings. `result` is what the request left behind."""

    code = "request_failed"

    def __init__(self, message: str, *, result: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.result: dict[str, Any] = dict(result or {})


class RequestFailed(RequestError):
    """The request ended with final FATAL issues; its score is not official."""


class RequestTimeout(RequestError):
    """The request's own deadline passed; what had finished is in `result`."""

    code = "request_timeout"
    exit_code = 124


class RequestCancelled(RequestError):
    """The request was cancelled by a signal or by its caller; `exit_code` tells which signal."""

    code = "request_cancelled"
    exit_code = 130


class ExecutionError(AgentCompassError):
    """Ends one execution of an attempt and becomes its issue.

    `phase` is the issue phase (setup, run, collect, evaluate, cleanup); None takes that of the
    engine's phase in which the error was raised.
    """

    code = "execution_failed"
    severity: Severity = "fatal"
    phase: str | None = None

    def __init__(
        self,
        message: str,
        *,
        phase: str | None = None,
        severity: Severity | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.phase = phase or self.phase
        self.severity = severity or self.severity
        self.code = code or self.code


class TaskInvalid(ExecutionError):
    """A task's own data cannot be run as they are; the other tasks go on."""

    code = "task_invalid"
    phase = "setup"


class EnvironmentFailed(ExecutionError):
    """A provider could not give what was asked: an open, a file or process operation, a policy."""

    code = "environment_failed"


class HarnessFailed(ExecutionError):
    """The agent's loop itself failed, for a reason that is not the model's or the sandbox's."""

    code = "harness_failed"


class ModelFailed(ExecutionError):
    """A model call failed for good; `status_code` is the HTTP status where there was one.

    `partial` is the text that had come when a streamed answer broke off.
    """

    code = "model_failed"
    phase = "run"

    def __init__(
        self,
        message: str,
        *,
        severity: Severity = "error",
        status_code: int | None = None,
        code: str | None = None,
        partial: str = "",
    ) -> None:
        super().__init__(message, severity=severity, code=code)
        self.status_code = status_code
        self.partial = partial


class ContextTooLong(ModelFailed):
    """The model refused a call because the conversation does not fit into its context."""


class EvaluationFailed(ExecutionError):
    """Scoring gave no verdict; the metric is missing, not zero."""

    code = "evaluate_failed"
    severity: Severity = "error"
    phase = "evaluate"


class ArtifactOverBudget(ExecutionError):
    """Artifacts exceed the limits of bytes, entries or seconds."""

    code = "artifact_over_budget"
    phase = "collect"


class BudgetExhausted(ExecutionError):
    """What model calls may take is used up: the next one is not made, and the work is scored.

    The code is `run_budget_exhausted` where it is what the whole run may take.
    """

    code = "budget_exhausted"
    severity: Severity = "error"
    phase = "run"


class PhaseTimeout(ExecutionError):
    """A deadline of this package fired; the message names the stretch and its limit."""

    code = "timeout"


class StoreError(AgentCompassError):
    """A record could not be written or read."""

    code = "store_error"


class SchemaUnsupported(StoreError):
    """A record's schema version is not one that this version reads."""

    code = "schema_unsupported"


class RecordCorrupt(StoreError):
    """A record is not what its schema says; the message names file and field."""

    code = "record_corrupt"
