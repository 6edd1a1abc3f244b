"""An agent that runs the task's own solution: what a benchmark scores then is its ceiling."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import attrs

from agentcompass.errors import HarnessFailed
from agentcompass.harnesses._base import PlainAgent
from agentcompass.protocols import AgentContext, Session
from agentcompass.records.environment import ExecResult
from agentcompass.records.issue import Issue
from agentcompass.records.task import RunResult, TaskSpec

_FOLDER = "/solution"
# A provider that maps Harbor's folders to its own says by this variable where they are.
_COMMAND = f'bash "${{SOLUTION_DIR:-{_FOLDER}}}/solve.sh"'
_TAIL = 1000  # characters of output in an issue
_KEPT = 20_000  # characters of output in the result


@attrs.frozen(kw_only=True)
class OracleConfig:
    """It takes no parameters."""


class Oracle:
    """Uploads the task's solution folder and runs its `solve.sh` in the working directory.

    The folder is `solution_dir` of the task's metadata, or else `solution_files`, texts by name.

    Only the run's own deadline bounds it. A solution that fails is an ERROR, and still scored.
    """

    id: ClassVar[str] = "oracle"
    description: ClassVar[str] = "Runs the task's own solution; shows what the tasks can score"
    Config: ClassVar[type[Any]] = OracleConfig
    needs_model: ClassVar[bool] = False
    protocols: ClassVar[Sequence[str]] = ()
    default_run_timeout_seconds: ClassVar[float | None] = None

    def __init__(self, config: OracleConfig) -> None:
        self.config = config

    def start(self, session: Session, context: AgentContext) -> "OracleAgent":
        """An agent for one attempt."""
        return OracleAgent(session=session, task=context.task)


@attrs.frozen(kw_only=True, eq=False)
class OracleAgent(PlainAgent):
    """One run of one solution."""

    session: Session
    task: TaskSpec

    async def run(self, result: RunResult) -> None:
        """Raises `HarnessFailed` where the task has no solution."""
        await self._bring_solution()
        ended = await self.session.exec(
            _COMMAND,
            env=self.task.metadata.get("solution_env", {}),
            timeout_seconds=math.inf,
            user=self.task.metadata.get("agent_user"),
        )
        result.artifacts["solution"] = _account(ended)
        result.telemetry["env_seconds"] = ended.seconds
        if not ended.ok:
            result.add_issue(_issue(ended))

    async def _bring_solution(self) -> None:
        metadata = self.task.metadata
        if "solution_dir" in metadata:
            await self.session.upload(Path(metadata["solution_dir"]), _FOLDER)
        elif "solution_files" in metadata:
            for name, text in metadata["solution_files"].items():
                await self.session.write(f"{_FOLDER}/{name}", text.encode())
        else:
            raise HarnessFailed(f"task {self.task.task_id!r} has no solution folder to run")


def _account(ended: ExecResult) -> dict[str, Any]:
    return {
        "exit_code": ended.exit_code,
        "stdout": ended.stdout[-_KEPT:],
        "stderr": ended.stderr[-_KEPT:],
        "seconds": ended.seconds,
    }


def _issue(ended: ExecResult) -> Issue:
    how = "ran out of time" if ended.timed_out else f"ended with exit code {ended.exit_code}"
    tail = (ended.stderr.strip() or ended.stdout.strip())[-_TAIL:]
    message = f"solve.sh {how}: {tail or 'it printed nothing'}"
    return Issue(severity="error", phase="run", code="harness_failed", message=message)
