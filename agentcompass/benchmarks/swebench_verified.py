"""The benchmark `swebench_verified`: issues of Python projects, graded by their own tests."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import attrs

from agentcompass.benchmarks._common import CommonConfig
from agentcompass.benchmarks._data_sets import SWEBENCH_VERIFIED
from agentcompass.benchmarks._selection import select
from agentcompass.benchmarks._swebench_grading import NEEDS
from agentcompass.benchmarks._swebench_mirror import mirror_of
from agentcompass.benchmarks._swebench_repository import TAKE_PATCH, lay_out, note_start
from agentcompass.benchmarks._swebench_rows import Read, Row, read_rows
from agentcompass.benchmarks._swebench_scoring import Scoring
from agentcompass.benchmarks._swebench_scripts import Evaluation, evaluation_of
from agentcompass.protocols import Session
from agentcompass.records.data_set import DataSet
from agentcompass.records.environment import EnvironmentSetup
from agentcompass.records.metrics import MetricContract, binary_contract
from agentcompass.records.needs import Needs
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.task import EvaluationMode, PreparedTask, RunResult, TaskInput, TaskSpec

_SOLVE = "git -c safe.directory='*' apply \"${SOLUTION_DIR:-/solution}/reference.patch\"\n"


@attrs.frozen(kw_only=True)
class SWEbenchConfig(CommonConfig):
    """Where the rows, images and mirrors are, and what the agent is told."""

    hints_text: bool = attrs.field(
        default=False,
        metadata={
            "help": "Tell the agent what people said about the issue before it was solved; results"
            " with hints are not comparable with others."
        },
    )
    image: str = attrs.field(
        default="swebench/sweb.eval.x86_64.{id}:latest",
        metadata={
            "help": "Names of the images, for rows that do not name their own; {id} is the"
            " task's id in lower case with `_1776_` for `__`. Other registries, organizations"
            " and architectures (arm64) go here."
        },
    )
    repos_dir: str | None = attrs.field(
        default=None,
        metadata={
            "help": "The folder of mirrors (<owner>__<name>.git) to copy a repository from where"
            " the session has none at its working directory; null is <data_dir>/repos."
        },
    )
    download: bool = attrs.field(
        default=True, metadata={"help": "Whether a run may fetch the data set where it is missing."}
    )


class SWEbenchVerified:
    """500 issues. A patch resolves one by FAIL_TO_PASS and PASS_TO_PASS, as `swebench` says."""

    id: ClassVar[str] = "swebench_verified"
    description: ClassVar[str] = "SWE-bench Verified: 500 issues of Python projects"
    Config: ClassVar[type[SWEbenchConfig]] = SWEbenchConfig
    needs: ClassVar[Needs] = NEEDS
    data_set: DataSet | None = SWEBENCH_VERIFIED
    evaluation_mode: EvaluationMode = "fresh"
    evaluation_modes: frozenset[EvaluationMode] = frozenset({"fresh"})
    replies: Path | None = None

    def __init__(self, config: SWEbenchConfig) -> None:
        self.config = config
        self.aggregation_mode = config.aggregation_mode
        self.category_hierarchy = config.category_hierarchy
        # As officially: tests that never end do not pass.
        self.evaluation_timeout_metrics: Mapping[str, bool | float] = {"correct": False}
        self._rows: dict[str, Row] = {}
        self._repos = Path()

    def load_tasks(self, data_dir: Path) -> tuple[TaskSpec, ...]:
        """The selected tasks, in the order of the files; a broken row carries its fault. Blocking.

        Raises `UsageError` where there are no rows, or an id is there twice.
        """
        read = read_rows(data_dir / SWEBENCH_VERIFIED.id)
        self._repos = Path(self.config.repos_dir or data_dir / "repos").expanduser()
        self._rows = {item.task_id: item.row for item in read if item.row is not None}
        return select((self._task(item) for item in read), self.config.sample_ids)

    def check_data(self, directory: Path) -> Sequence[str]:
        """What is wrong with the rows in `directory`, each fault with its row and field. Blocking.

        Raises `UsageError` where there are no rows.
        """
        read = read_rows(directory)
        faults = [task.fault for item in read if (task := self._task(item)).fault]
        names = [item.task_id for item in read]
        twice = sorted({name for name in names if names.count(name) > 1})
        none = [] if read else [f"there is no row in {directory}"]
        return [
            *none,
            *faults,
            *(f"instance_id: {name!r} is there more than once" for name in twice),
        ]

    def metric_contract(self) -> MetricContract:
        """`correct` is what SWE-bench calls resolved."""
        return binary_contract()

    async def prepare_task(
        self, task: TaskSpec, session: Session, plan: ExecutionPlan
    ) -> PreparedTask:
        """Have the repository at the base commit, without later history, and note its state."""
        await self._lay_out(task, session)
        await note_start(session)
        return PreparedTask(
            task_id=task.task_id,
            category=task.category,
            input=TaskInput(prompt=task.instruction, workspace=session.workdir),
        )

    async def prepare_evaluation(
        self,
        task: TaskSpec,
        prepared: PreparedTask,
        plan: ExecutionPlan,
        session: Session | None,
    ) -> None:
        """Have the same repository, without later commits for a patch that runs there to find."""
        assert session is not None, "none is not among the evaluation modes"
        await self._lay_out(task, session)

    async def evaluate(
        self,
        task: TaskSpec,
        prepared: PreparedTask,
        result: RunResult,
        plan: ExecutionPlan,
        session: Session | None,
    ) -> None:
        """Apply the patch, run the tests and grade their log; see `_swebench_scoring`."""
        assert session is not None, "none is not among the evaluation modes"
        row = self._rows[task.task_id]
        evaluation = self._evaluation(row, repository=session.workdir)
        verdict = await Scoring(session=session, row=row, evaluation=evaluation).score(result)
        result.artifacts["report"] = dict(verdict.report)
        result.extra["verdict"] = verdict.reason
        result.metrics["correct"] = verdict.resolved

    async def _lay_out(self, task: TaskSpec, session: Session) -> None:
        row = self._rows[task.task_id]
        mirror = mirror_of(self._repos, row.repo)
        await lay_out(session, commit=row.base_commit, mirror=mirror)

    def _task(self, read: Read) -> TaskSpec:
        if read.row is None:
            return TaskSpec(task_id=read.task_id, fault=read.fault)
        try:
            evaluation = self._evaluation(read.row)
        except LookupError as error:
            fault = f"{read.place}: {error.args[0]}"
            return TaskSpec(task_id=read.task_id, category=read.row.repo, fault=fault)
        return TaskSpec(
            task_id=read.task_id,
            instruction=self._instruction(read.row),
            category=read.row.repo,
            metadata=_metadata(read.row),
            setup=EnvironmentSetup(image=evaluation.image),
            artifact_collect=(TAKE_PATCH,),
            evaluation_timeout_seconds=1800.0,
        )

    def _evaluation(self, row: Row, **options: Any) -> Evaluation:
        return evaluation_of(row, image=self.config.image, **options)

    def _instruction(self, row: Row) -> str:
        if self.config.hints_text and row.hints_text and row.hints_text.strip():
            return f"{row.problem_statement}\n\nHints:\n\n{row.hints_text}"
        return row.problem_statement


def _metadata(row: Row) -> dict[str, Any]:
    """Where a solution is known, what the harness `oracle` brings into the session and runs."""
    about: dict[str, Any] = {"repo": row.repo, "base_commit": row.base_commit}
    if row.patch:
        about["solution_files"] = {"solve.sh": _SOLVE, "reference.patch": row.patch}
    return about
