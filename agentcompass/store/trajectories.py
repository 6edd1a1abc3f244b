"""Writes the trajectory of an attempt in ATIF, beside the artifacts that were collected."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from agentcompass.records.atif import AtifAgent, atif_document
from agentcompass.store.atomic import Replacements, named_errors
from agentcompass.store.encode import dump
from agentcompass.store.layout import AttemptLayout


def save_atif(
    files: Replacements, attempt: AttemptLayout, result: Mapping[str, Any], agent: AtifAgent
) -> None:
    """Write the trajectory of a result as it is on record, if it has a step. Blocking.

    Nothing is written where an artifact has the place: what was collected is not changed.
    """
    where = (attempt.directory.parent.name, attempt.directory.name)
    session = "/".join((agent.session_id or "", *where))
    document = atif_document(result["trajectory"], agent, session_id=session)
    if document is None or is_collected(result["artifacts"], attempt.atif.name):
        return
    with named_errors(attempt.artifacts):
        files.disk.make_folders(attempt.artifacts)
    with named_errors(attempt.atif):
        data = dump(document)
    files.add(attempt.atif, data)


def is_collected(artifacts: Mapping[str, Any], name: str) -> bool:
    """Whether the place `name` among the artifacts is one of what came out of the sandbox."""
    manifest = artifacts.get("declared_artifacts")
    entries = manifest.get("entries") if isinstance(manifest, Mapping) else None
    given = (entry for entry in entries or () if isinstance(entry, Mapping))
    places = (PurePosixPath(str(entry.get("destination", ""))) for entry in given)
    return any(PurePosixPath(name).is_relative_to(place) for place in places)
