"""What an execution leaves behind: collected from the agent's session, restored for a verifier."""

import trio
from trio.from_thread import check_cancelled

from agentcompass.deadlines import deadline
from agentcompass.engine.artifact_check import ArtifactsInvalid, validate_artifacts
from agentcompass.engine.artifact_entries import artifact_entries
from agentcompass.engine.collection import Collection, first_few
from agentcompass.engine.execution_state import Execution
from agentcompass.engine.secret_scan import SecretScan
from agentcompass.errors import ArtifactOverBudget, EnvironmentFailed
from agentcompass.protocols import Session
from agentcompass.records.artifacts import ArtifactManifest
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.task import CollectCommand


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
        env={"BASH_ENV": ""},  # a file that the agent may have written is not to steer this
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


async def download_artifacts(execution: Execution, session: Session) -> None:
    """Copy the declared artifacts and the implicit folder to the attempt's artifacts folder.

    However this ends, `execution.manifest` says what became of each. Raises `ArtifactOverBudget`
    as soon as they together exceed the limits of bytes, entries or seconds.
    """
    plan = execution.plan
    collection = Collection(
        session=session,
        folder=execution.artifacts_dir,
        limits=plan.artifact_limits,
        entries=list(artifact_entries(plan)),
        scan=SecretScan(execution.run.job.redactor),
    )
    seconds = plan.artifact_limits.timeout_seconds
    try:
        with deadline(seconds, stretch="artifact download", error=ArtifactOverBudget):
            await collection.collect()
    except BaseException as error:
        collection.break_off(error)
        raise
    finally:
        execution.manifest = collection.manifest(execution.artifacts_reference)
        _warn(execution, collection)


def _warn(execution: Execution, collection: Collection) -> None:
    if skipped := collection.skipped:
        message = f"special files (sockets, pipes, devices) were not collected: {len(skipped)}"
        execution.warn(
            "collect", "special_files_skipped", f"{message}: {first_few(sorted(skipped))}"
        )
    if found := [str(file.relative_to(collection.folder)) for file in collection.scan.found]:
        message = f"files that were collected hold a known secret, and keep it: {len(found)}"
        execution.warn("collect", "secret_in_artifact", f"{message}: {first_few(found)}")


async def restore_artifacts(execution: Execution, session: Session) -> None:
    """Put what was collected where it came from, in a fresh session.

    All of it is compared with its manifest first: raises `EnvironmentFailed` where it has changed.
    """
    manifest = execution.manifest
    if manifest is None:
        return
    seconds = execution.plan.artifact_limits.timeout_seconds
    with deadline(seconds, stretch="artifact validation", error=RestoreTimeout):
        await trio.to_thread.run_sync(_validate, execution, manifest)
    for entry in manifest.entries:
        if entry.status == "collected":
            await session.upload(execution.artifacts_dir / entry.destination, entry.source)


class RestoreTimeout(EnvironmentFailed):
    """Comparing the artifacts with their manifest took longer than an artifact operation may."""

    phase = "evaluate"


def _validate(execution: Execution, manifest: ArtifactManifest) -> None:
    try:
        validate_artifacts(execution.artifacts_dir, manifest, check=check_cancelled)
    except ArtifactsInvalid as error:
        raise EnvironmentFailed(str(error), phase="evaluate", code=error.code) from None
