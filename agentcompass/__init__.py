"""The public names of AgentCompass, each imported on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentcompass._version import __version__

if TYPE_CHECKING:
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
    from agentcompass.records.issue import Issue
    from agentcompass.records.plan import ExecutionPlan
    from agentcompass.records.progress import ProgressEvent
    from agentcompass.records.request import RunRequest
    from agentcompass.records.task import PreparedTask, RunResult, TaskSpec
    from agentcompass.sdk import (
        async_export_run,
        async_run_evaluation,
        async_summary,
        export_run,
        run_evaluation,
        summary,
    )

__all__ = [
    "AgentCompassError",
    "ConfigInvalid",
    "DependencyMissing",
    "ExecutionPlan",
    "Issue",
    "PreparedTask",
    "ProgressEvent",
    "RequestCancelled",
    "RequestError",
    "RequestFailed",
    "RequestTimeout",
    "RunRequest",
    "RunResult",
    "TaskSpec",
    "UnknownComponent",
    "UsageError",
    "__version__",
    "async_export_run",
    "async_run_evaluation",
    "async_summary",
    "export_run",
    "run_evaluation",
    "summary",
]

_HOMES = {
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
    "records.issue": ("Issue",),
    "records.plan": ("ExecutionPlan",),
    "records.progress": ("ProgressEvent",),
    "records.request": ("RunRequest",),
    "records.task": ("PreparedTask", "RunResult", "TaskSpec"),
    "sdk": (
        "async_export_run",
        "async_run_evaluation",
        "async_summary",
        "export_run",
        "run_evaluation",
        "summary",
    ),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
