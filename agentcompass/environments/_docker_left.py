"""Containers of this package on an engine, found by their labels when no journal is at hand."""

import datetime as dt
from collections.abc import Mapping
from typing import Any

from agentcompass.environments._docker_container import (
    ATTEMPT,
    DIRECTORY,
    HELPER,
    OWNER,
    PREFIX,
    RUN,
    TASK,
)
from agentcompass.environments._docker_engine import Engine


async def labelled(engine: Engine, host: str) -> list[Mapping[str, Any]]:
    """Each container as an entry of the journal has it, with its run and the run's directory."""
    query = {"all": "1", "filters": {"label": [RUN]}}
    found = await engine.call("GET", "/containers/json", query=query)
    # One that is being removed has no name any more.
    by_name = {it["Names"][0].lstrip("/"): it for it in found if it["Names"]}
    # A helper whose session is gone stands for it: both are removed by one name.
    helpers = {
        name.removesuffix(HELPER): it for name, it in by_name.items() if name.endswith(HELPER)
    }
    sessions = {name: it for name, it in by_name.items() if not name.endswith(HELPER)}
    return [_entry(name, it, host) for name, it in {**helpers, **sessions}.items()]


def _entry(name: str, container: Mapping[str, Any], host: str) -> Mapping[str, Any]:
    labels = container["Labels"]
    created = dt.datetime.fromtimestamp(container["Created"], dt.UTC).isoformat()
    attempt = labels.get(ATTEMPT, "")
    return {
        "id": name.removeprefix(PREFIX),
        "provider": "docker",
        "state": "active",
        "task_id": labels.get(TASK, ""),
        "attempt": int(attempt) if attempt.isdecimal() else 0,
        "created_at": created,
        "owner": labels.get(OWNER, ""),
        "run_dir": labels.get(DIRECTORY, ""),
        "close_params": {"container": name, "host": host},
    }
