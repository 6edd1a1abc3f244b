"""Puts an execution where an earlier run left it: after the agent, before scoring."""

from pathlib import Path

import attrs
import trio

from agentcompass.deadlines import deadline
from agentcompass.engine.artifact_check import validate_artifacts
from agentcompass.engine.digest import digest_tree
from agentcompass.engine.execution_state import Execution
from agentcompass.engine.reuse import why_not_resumable
from agentcompass.errors import ExecutionError, StoreError
from agentcompass.records.checkpoint import EvaluationCheckpoint


class CheckpointUnusable(ExecutionError):
    """Saved work cannot be scored; the attempt is executed instead."""

    code = "checkpoint_unusable"


async def recover(execution: Execution) -> None:
    """Go on from the saved work of this attempt, whose files are in the run directory already.

    Raises `CheckpointUnusable` with the reason where the work is not what it was.
    """
    execution.enter("recover_evaluation")
    try:
        checkpoint = await _saved_work(execution)
    except (StoreError, OSError, ValueError) as error:  # a path in it may be none
        raise CheckpointUnusable(str(error)) from error
    task = execution.task
    execution.prepared = checkpoint.prepared_task
    execution.manifest = checkpoint.artifacts
    execution.result = attrs.evolve(
        checkpoint.run_result,
        category=task.category,
        ground_truth=task.ground_truth,
        artifacts={
            **checkpoint.run_result.artifacts,
            "reuse_history": {"source_run": checkpoint.source_run_id, "resumed": True},
        },
    )
    execution.keep_agent_result()


async def _saved_work(execution: Execution) -> EvaluationCheckpoint:
    plan, number = execution.plan, execution.number
    checkpoint = await execution.run.store.load_evaluation(plan.task_id, number)
    if checkpoint is None:
        raise CheckpointUnusable("there is no saved work")
    if reason := why_not_resumable(checkpoint, plan, attempt=number):
        raise CheckpointUnusable(reason)
    limit = plan.artifact_limits.timeout_seconds
    with deadline(limit, stretch="validation of saved work", error=CheckpointUnusable):
        await trio.to_thread.run_sync(
            _validate, checkpoint, execution.artifacts_dir, abandon_on_cancel=True
        )
    return checkpoint


def _validate(checkpoint: EvaluationCheckpoint, folder: Path) -> None:
    if checkpoint.artifacts is not None:
        validate_artifacts(folder, checkpoint.artifacts)
    for name, recorded in checkpoint.driver_inputs.items():
        try:
            found = digest_tree(Path(name)).sha256
        except OSError as error:
            raise CheckpointUnusable(f"its input {name} cannot be read: {error}") from error
        if found != recorded.get("sha256"):
            raise CheckpointUnusable(f"its input {name} has changed")
