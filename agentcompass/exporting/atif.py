"""A run as ATIF: a file for each attempt that has a trajectory, and an index of all attempts."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentcompass.config.merge import pick
from agentcompass.errors import RecordCorrupt, StoreError
from agentcompass.exporting.atif_schema import checked_atif
from agentcompass.exporting.attempts import Finished, Source, finished_attempts, trajectory
from agentcompass.exporting.text import document
from agentcompass.records.atif import AtifAgent
from agentcompass.store.atomic import read_record
from agentcompass.store.reading import UnreadableTask
from agentcompass.store.trajectories import is_collected

log = logging.getLogger(__name__)

Record = Mapping[str, Any]

INDEX = "index.jsonl"


def write_atif(source: Source, folder: Path) -> Path:
    """Fill `folder`, and return it; blocking. Raises `UsageError` for what is no run."""
    agent = agent_of(source)
    with (folder / INDEX).open("wb") as index:
        for found in finished_attempts(source):
            if isinstance(found, UnreadableTask):
                line = {"task_id": None, "attempt": None, "file": None, "fault": found.fault}
            else:
                line = _write_attempt(source, folder, found, agent)
            index.write(document(line))
    return folder


def agent_of(source: Source) -> AtifAgent:
    """Who acted in a run; which version of it did is in no record of the run."""
    info = source.info()
    name, model = (str(pick(info.request, (part, "id"), "")) for part in ("harness", "model"))
    return AtifAgent(
        name=name or "unknown",
        version="unknown",
        model_name=model or None,
        session_id=info.run_id,
    )


def _write_attempt(
    source: Source, folder: Path, attempt: Finished, agent: AtifAgent
) -> dict[str, Any]:
    """The line of the index."""
    line = {"task_id": source.redactor.known(attempt.task_id), "attempt": attempt.number}
    try:
        found = _written(attempt) or _converted(attempt, agent)
    except RecordCorrupt as error:
        return {**line, "file": None, "fault": str(error)}
    name = f"{attempt.label.replace('/', '.')}.json"
    (folder / name).write_bytes(document(source.redactor.record(found)))
    return {**line, "file": name}


def _written(attempt: Finished) -> Record | None:
    """The artifact that was written with the result, unless it is damaged.

    What came out of the sandbox at its place is the agent's, whatever it says.
    """
    path = attempt.files.atif
    linked = path.is_symlink() or path.parent.is_symlink()
    if linked or is_collected(attempt.result.artifacts, path.name):
        return None
    try:
        found = read_record(path)
        return None if found is None else checked_atif(found, source=str(path))
    except StoreError as error:
        log.warning("converted anew from the result: %s", error)
        return None


def _converted(attempt: Finished, agent: AtifAgent) -> Record:
    """The trajectory of the result; raises `RecordCorrupt` where there is none in ATIF."""
    found = trajectory(attempt, agent)
    if found is None:
        raise RecordCorrupt("no trajectory")
    return checked_atif(found, source=f"{attempt.files.result}: trajectory")
