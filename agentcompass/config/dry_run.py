"""What `launch --dry-run` shows of a resolved orchestration."""

from typing import Any

from agentcompass.config.orchestration import Orchestration
from agentcompass.records.convert import unstructure
from agentcompass.records.request import RunRequest


def as_document(resolved: Orchestration) -> dict[str, Any]:
    """All of it; it still holds the secrets. A limit or timeout of 0 is none."""
    runtime = unstructure(resolved.runtime)
    for name in ("provider_limits", "env_open_qps"):
        runtime[name] = {provider: limit or 0 for provider, limit in runtime[name].items()}
    runtime["timeout_seconds"] = runtime["timeout_seconds"] or 0
    return {
        "orchestration_id": resolved.id,
        "name": resolved.name,
        "task_concurrency": resolved.task_concurrency,
        "runtime": {**runtime, "cleanup_grace_seconds": resolved.cleanup_grace_seconds},
        "requests": [_request_document(request) for request in resolved.requests],
    }


def _request_document(request: RunRequest) -> dict[str, Any]:
    place = request.metadata
    head = {name: place[f"request_{name}"] for name in ("key", "index", "name")}
    return {**head, **unstructure(request)}
