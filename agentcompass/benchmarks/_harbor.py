"""Tasks in Harbor's format, wherever they are kept: laid out in a session, scored by test.sh."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import attrs
import trio

from agentcompass.benchmarks._common import CommonConfig
from agentcompass.benchmarks._context import ContextEntry, context_entries
from agentcompass.benchmarks._rewards import main_reward
from agentcompass.benchmarks._selection import select
from agentcompass.benchmarks._task_folder import find_replies, find_tasks, load_task
from agentcompass.benchmarks._verifier import Verifier, read_rewards, transcript
from agentcompass.errors import EnvironmentFailed
from agentcompass.protocols import Session
from agentcompass.records.issue import Issue
from agentcompass.records.metrics import MetricContract, binary_contract, scalar_contract
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.task import EvaluationMode, PreparedTask, RunResult, TaskInput, TaskSpec

_LOGS = '"${LOGS_DIR:-/logs}/agent" "${LOGS_DIR:-/logs}/verifier" "${LOGS_DIR:-/logs}/artifacts"'
_MAKE_FOLDERS = f'mkdir -p -- "$1" {_LOGS}'
# An agent that is not the session's own user has to be able to write its logs.
_OPEN_LOGS = f"chmod a+rwX -- {_LOGS}"

# Moves what is in $1 to the working directory, except where the agent left something.
_FILL_IN = """
cd -- "$1" && find . ! -type d -exec sh -c '
for file do
    [ -e "../$file" ] || [ -L "../$file" ] || {
        mkdir -p -- "../${file%/*}" && mv -- "$file" "../$file"
    } || :
done' sh {} + && cd .. && rm -rf -- "$1"
"""
_STAGING = ".agentcompass-context"


@attrs.frozen(kw_only=True)
class HarborConfig(CommonConfig):
    """What every benchmark of Harbor task folders can be told."""

    metric: Literal["auto", "correct", "score"] = attrs.field(
        default="auto",
        metadata={
            "help": "correct: solved at reward 1.0, else not; score: the reward itself; auto:"
            " score if a task of the data set says `graded = true` in its [metadata], else correct."
        },
    )


class HarborBenchmark:
    """The benchmark over one folder of tasks, `root`; subclasses say where it is."""

    evaluation_mode: EvaluationMode = "reuse"
    evaluation_modes: frozenset[EvaluationMode] = frozenset({"reuse", "fresh"})

    def __init__(self, config: HarborConfig, root: Path) -> None:
        self.config = config
        self.root = root
        self.aggregation_mode = config.aggregation_mode
        self.category_hierarchy = config.category_hierarchy
        self.evaluation_timeout_metrics: Mapping[str, bool | float] = {}
        self.replies = find_replies(root)
        self._graded = False

    def load_tasks(self, data_dir: Path) -> tuple[TaskSpec, ...]:
        """The selected tasks, sorted by name; a broken one carries its fault. Blocking.

        Raises `UsageError` where there are no task folders, or for an id that is not there.
        """
        tasks = [load_task(folder, os.environ) for folder in find_tasks(self.root)]
        self._graded = any(task.metadata.get("graded") for task in tasks)
        return select(tasks, self.config.sample_ids)

    def metric_contract(self) -> MetricContract:
        """`score` where the parameter `metric` or any task asks for it, else `correct`."""
        metric = self.config.metric
        if metric == "score" or (metric == "auto" and self._graded):
            return scalar_contract()
        return binary_contract()

    async def prepare_task(
        self, task: TaskSpec, session: Session, plan: ExecutionPlan
    ) -> PreparedTask:
        """Make Harbor's folders, and the files beside the Dockerfile where no image has them."""
        await _make_folders(task, session)
        if not _has_context(session):
            await _copy_context(task, session, into="")
        return PreparedTask(
            task_id=task.task_id,
            category=task.category,
            ground_truth=task.ground_truth,
            input=TaskInput(prompt=task.instruction, workspace=session.workdir),
        )

    async def prepare_evaluation(
        self,
        task: TaskSpec,
        prepared: PreparedTask,
        plan: ExecutionPlan,
        session: Session | None,
    ) -> None:
        """Bring in the tests, and empty the folders of the verdict."""
        assert session is not None, "none is not among the evaluation modes"
        if plan.evaluation_mode == "fresh":
            await _lay_out_again(task, session)
        await _verifier(task).lay_out(session)

    async def evaluate(
        self,
        task: TaskSpec,
        prepared: PreparedTask,
        result: RunResult,
        plan: ExecutionPlan,
        session: Session | None,
    ) -> None:
        """Run tests/test.sh and score by the reward that it leaves; see `_verifier` for faults."""
        assert session is not None, "none is not among the evaluation modes"
        ended = await _verifier(task).run(session)
        result.artifacts["verifier"] = transcript(ended)
        self._score(await read_rewards(session, ended), result)

    def _score(self, rewards: dict[str, float], result: RunResult) -> None:
        result.extra["rewards"] = rewards
        reward = main_reward(rewards)
        if self.metric_contract().primary == "score":
            result.metrics["score"] = reward
            return
        result.metrics["correct"] = reward == 1.0
        if reward not in (0.0, 1.0):
            result.add_issue(_not_binary(reward))


def _verifier(task: TaskSpec) -> Verifier:
    return Verifier(
        tests_dir=Path(task.metadata["tests_dir"]),
        env=task.metadata["verifier_env"],
        user=task.metadata.get("verifier_user"),
    )


def _not_binary(reward: float) -> Issue:
    return Issue(
        severity="warning",
        phase="evaluate",
        code="reward_not_binary",
        message=f"reward {reward:g} counts as not correct; the parameter metric=score keeps it",
    )


def _has_context(session: Session) -> bool:
    """Whether the session's image was built, by the provider or before, from environment/."""
    return bool(getattr(session, "built_context", False))


async def _make_folders(task: TaskSpec, session: Session) -> None:
    script = _MAKE_FOLDERS
    if task.metadata.get("agent_user") is not None:
        script = f"{script} && {_OPEN_LOGS}"
    await _run(session, script, session.workdir, cwd="/")


async def _copy_context(task: TaskSpec, session: Session, *, into: str) -> None:
    folder = task.metadata.get("environment_dir")
    if folder is None:
        return
    try:
        entries = await trio.to_thread.run_sync(context_entries, Path(folder))
    except (OSError, UnicodeDecodeError) as error:
        raise EnvironmentFailed(f"environment/ cannot be read: {error}") from error
    for entry in entries:
        await _copy(entry, session, f"{into}{entry.target}")


async def _copy(entry: ContextEntry, session: Session, target: str) -> None:
    if entry.link is None:
        await session.upload(entry.source, target)
    else:
        parent = str(Path(target).parent)
        await _run(session, 'mkdir -p -- "$1" && ln -sfn -- "$2" "$3"', parent, entry.link, target)


async def _lay_out_again(task: TaskSpec, session: Session) -> None:
    """Give a fresh session what an image would have; restored artifacts are there and stay."""
    await _make_folders(task, session)
    if not _has_context(session):
        await _run(session, 'mkdir -p -- "$1"', _STAGING)
        await _copy_context(task, session, into=f"{_STAGING}/")
        await _run(session, _FILL_IN, _STAGING)


async def _run(session: Session, script: str, *arguments: str, **options: Any) -> None:
    done = await session.exec(["sh", "-c", script, "sh", *arguments], **options)
    if not done.ok:
        raise EnvironmentFailed(f"the task's files could not be laid out: {done.stderr[-200:]}")
