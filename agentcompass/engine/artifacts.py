"""What an execution leaves behind: collected from the agent's session, restored for a verifier."""

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import attrs
import trio

from agentcompass.deadlines import deadline
from agentcompass.engine.digest import digest_tree
from agentcompass.errors import ArtifactOverBudget, EnvironmentFailed
from agentcompass.protocols import Session
from agentcompass.records.artifacts import ArtifactEntry, ArtifactManifest, EntryStatus
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.request import ArtifactLimits
from agentcompass.records.task import ArtifactSpec, CollectCommand

# Collected from every task that saves artifacts, whether or not it declares any.
IMPLICIT = ArtifactSpec(source="/logs/artifacts")


async def run_collect_commands(session: Session, plan: ExecutionPlan) -> None:
    """Run the declared collection commands; one that fails is FATAL: what it makes is missing."""
    limit = plan.artifact_collect_timeout_seconds
    with deadline(limit, stretch="collection commands", error=CollectTimeout):
        for command in plan.artifact_collect:
            await _collect(session, command)


class CollectTimeout(EnvironmentFailed):
    """The collection commands together ran out of their time."""

    phase = "collect"


async def _collect(session: Session, command: CollectCommand) -> None:
    result = await session.exec(
        ["bash", "-c", command.command],
        timeout_seconds=command.timeout_seconds,
        user=command.user,
    )
    if result.timed_out:
        raise EnvironmentFailed(
            f"a collection command timeout: exceeded {command.timeout_seconds:g} s", phase="collect"
        )
    if result.exit_code != 0:
        raise EnvironmentFailed(
            f"a collection command ended with exit code {result.exit_code}: {result.stderr[-200:]}",
            phase="collect",
        )


async def download_artifacts(
    session: Session, plan: ExecutionPlan, target: Path, *, reference: str
) -> ArtifactManifest:
    """Copy the declared artifacts and the implicit folder to the host folder `target`.

    `reference` is `target` relative to the run directory. Raises `ArtifactOverBudget` for what
    exceeds the limits, in bytes or entries or seconds.
    """
    limits = plan.artifact_limits
    entries = []
    with deadline(limits.timeout_seconds, stretch="artifact download", error=ArtifactOverBudget):
        for spec in (IMPLICIT, *plan.artifacts):
            entries.append(await _download(session, spec, target))
            await trio.to_thread.run_sync(_check_budget, target, limits, abandon_on_cancel=True)
    return ArtifactManifest(directory=reference, complete=True, entries=tuple(entries))


async def _download(session: Session, spec: ArtifactSpec, target: Path) -> ArtifactEntry:
    destination = spec.destination or spec.source.lstrip("/")
    if ".." in PurePosixPath(destination).parts or destination.startswith("/"):
        raise EnvironmentFailed(f"artifact destination {destination!r} leaves the artifacts folder")
    local = target / destination
    try:
        await session.download(spec.source, local)
    except FileNotFoundError:
        return _entry(spec, destination, status="missing")
    found = await trio.to_thread.run_sync(digest_tree, local, abandon_on_cancel=True)
    return attrs.evolve(
        _entry(spec, destination, status="collected"),
        kind=found.kind,
        sha256=found.sha256,
        size_bytes=found.size_bytes,
        file_count=found.file_count,
    )


def _entry(spec: ArtifactSpec, destination: str, *, status: EntryStatus) -> ArtifactEntry:
    return ArtifactEntry(
        source=spec.source,
        destination=destination,
        exclude=spec.exclude,
        service=spec.service,
        status=status,
    )


def _check_budget(folder: Path, limits: ArtifactLimits) -> None:
    size = 0
    for files, path in enumerate(folder.rglob("*"), start=1):
        size += path.lstat().st_size
        if files > limits.max_files or size > limits.max_mb * 2**20:
            raise ArtifactOverBudget(
                f"artifacts exceed {limits.max_mb} MB or {limits.max_files} entries"
            )


async def restore_artifacts(
    session: Session, entries: Sequence[ArtifactEntry], folder: Path
) -> None:
    """Put what was collected where it came from, in a fresh session."""
    for entry in entries:
        if entry.status == "collected":
            await session.upload(folder / entry.destination, entry.source)
