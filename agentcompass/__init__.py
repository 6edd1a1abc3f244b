"""The public names of AgentCompass, each imported on first use."""

from importlib import import_module

from agentcompass._version import __version__

TYPE_CHECKING = False  # that of `typing`, which takes longer to load than all of `--version`

if TYPE_CHECKING:
    from typing import Any

    from agentcompass.config.orchestration import Orchestration
    from agentcompass.embedding import Evaluation, open_evaluation
    from agentcompass.errors import (
        AgentCompassError,
        ConfigInvalid,
        DependencyMissing,
        RequestCancelled,
        RequestError,
        RequestFailed,
        RequestTimeout,
        UnknownComponent,
        UsageError,
    )
    from agentcompass.recipes._base import BaseRecipe
    from agentcompass.records.issue import ExecutionIssue, Issue, IssuePhase, IssueSeverity
    from agentcompass.records.orchestration import (
        OrchestrationDefaults,
        OrchestrationResult,
        OrchestrationSpec,
        RequestOutcome,
        RunRequestSpec,
        RunRuntimeSpec,
        RuntimeOptions,
    )
    from agentcompass.records.plan import ExecutionPlan
    from agentcompass.records.progress import EventsDropped, ProgressEvent
    from agentcompass.records.request import RunRequest
    from agentcompass.records.task import PreparedTask, RunResult, TaskSpec
    from agentcompass.sdk import (
        async_export_run,
        async_launch,
        async_run_evaluation,
        async_run_evaluation_request,
        async_summary,
        build_run_request,
        export_run,
        launch,
        run_evaluation,
        run_evaluation_request,
        summary,
    )

__all__ = [
    "AgentCompassError",
    "BaseRecipe",
    "ConfigInvalid",
    "DependencyMissing",
    "Evaluation",
    "EventsDropped",
    "ExecutionIssue",
    "ExecutionPlan",
    "Issue",
    "IssuePhase",
    "IssueSeverity",
    "Orchestration",
    "OrchestrationDefaults",
    "OrchestrationResult",
    "OrchestrationSpec",
    "PreparedTask",
    "ProgressEvent",
    "RequestCancelled",
    "RequestError",
    "RequestFailed",
    "RequestOutcome",
    "RequestTimeout",
    "RunRequest",
    "RunRequestSpec",
    "RunResult",
    "RunRuntimeSpec",
    "RuntimeOptions",
    "TaskSpec",
    "UnknownComponent",
    "UsageError",
    "__version__",
    "async_export_run",
    "async_launch",
    "async_run_evaluation",
    "async_run_evaluation_request",
    "async_summary",
    "build_run_request",
    "export_run",
    "launch",
    "open_evaluation",
    "run_evaluation",
    "run_evaluation_request",
    "summary",
]

_HOMES = {
    "config.orchestration": ("Orchestration",),
    "embedding": ("Evaluation", "open_evaluation"),
    "errors": (
        "AgentCompassError",
        "ConfigInvalid",
        "DependencyMissing",
        "RequestCancelled",
        "RequestError",
        "RequestFailed",
        "RequestTimeout",
        "UnknownComponent",
        "UsageError",
    ),
    "recipes._base": ("BaseRecipe",),
    "records.issue": ("ExecutionIssue", "Issue", "IssuePhase", "IssueSeverity"),
    "records.orchestration": (
        "OrchestrationDefaults",
        "OrchestrationResult",
        "OrchestrationSpec",
        "RequestOutcome",
        "RunRequestSpec",
        "RunRuntimeSpec",
        "RuntimeOptions",
    ),
    "records.plan": ("ExecutionPlan",),
    "records.progress": ("EventsDropped", "ProgressEvent"),
    "records.request": ("RunRequest",),
    "records.task": ("PreparedTask", "RunResult", "TaskSpec"),
    "sdk": (
        "async_export_run",
        "async_launch",
        "async_run_evaluation",
        "async_run_evaluation_request",
        "async_summary",
        "build_run_request",
        "export_run",
        "launch",
        "run_evaluation",
        "run_evaluation_request",
        "summary",
    ),
}


def __getattr__(name: str) -> "Any":
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
