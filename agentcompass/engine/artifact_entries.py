"""Which artifacts a plan asks for, and where below the artifacts folder each will lie. Pure."""

import posixpath
from itertools import combinations
from pathlib import PurePosixPath

from agentcompass.engine.artifact_check import leaves_folder
from agentcompass.errors import TaskInvalid
from agentcompass.records.artifacts import ArtifactEntry
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.task import ArtifactSpec

# Collected from every task that saves artifacts, unless the task declares it with its own words.
IMPLICIT = ArtifactSpec(source="/logs/artifacts")


def artifact_entries(plan: ExecutionPlan) -> tuple[ArtifactEntry, ...]:
    """A pending entry for each artifact; raises `TaskInvalid` where two cannot lie side by side.

    One may lie inside the other as it does in the sandbox; else a verifier would be given the one
    within the other.
    """
    declared = [_entry(spec) for spec in dict.fromkeys(plan.artifacts)]
    implicit = _entry(IMPLICIT)
    own = any(_place(entry) == _place(implicit) for entry in declared)
    entries = declared if own else [implicit, *declared]
    for one, other in combinations(entries, 2):
        if overlap(one, other) and not _alike(one, other):
            raise TaskInvalid(
                f"artifacts {one.source!r} and {other.source!r} cannot lie at"
                f" {one.destination!r} and {other.destination!r}: give one another destination"
            )
    return tuple(entries)


def overlap(one: ArtifactEntry, other: ArtifactEntry) -> bool:
    """Whether one is, or lies inside, the other."""
    first, second = PurePosixPath(one.destination), PurePosixPath(other.destination)
    return first.is_relative_to(second) or second.is_relative_to(first)


def depth(entry: ArtifactEntry) -> int:
    """How many folders deep an entry lies."""
    return len(PurePosixPath(entry.destination).parts)


def _entry(spec: ArtifactSpec) -> ArtifactEntry:
    default = posixpath.normpath(spec.source).lstrip("/") or "."
    destination = posixpath.normpath(spec.destination) if spec.destination else default
    if leaves_folder(destination) or "\0" in destination:
        raise TaskInvalid(
            f"artifact {spec.source!r} cannot lie at {destination!r}: that is outside the"
            " artifacts folder"
        )
    return ArtifactEntry(
        source=spec.source, destination=destination, exclude=spec.exclude, service=spec.service
    )


def _place(entry: ArtifactEntry) -> tuple[str, str]:
    return posixpath.normpath(entry.source), entry.destination


def _alike(one: ArtifactEntry, other: ArtifactEntry) -> bool:
    """Whether two overlapping entries lie to each other as their sources do."""
    outer, inner = sorted((one, other), key=depth)
    (above, around), (below, inside) = _place(outer), _place(inner)
    return PurePosixPath(above) / PurePosixPath(inside).relative_to(around) == PurePosixPath(below)
