"""Records that the tests of the store share."""

from collections.abc import Callable
from functools import partial
from typing import Any

import attrs

from agentcompass.records.artifacts import ArtifactEntry, ArtifactManifest
from agentcompass.records.atif import AtifAgent
from agentcompass.records.attempt import AttemptResult, TaskHeader
from agentcompass.records.checkpoint import EvaluationCheckpoint, RetryDetail
from agentcompass.records.convert import unstructure
from agentcompass.records.environment import NetworkPolicy
from agentcompass.records.issue import Issue
from agentcompass.records.request import (
    AttemptPlan,
    ComponentSpec,
    ExecutionOptions,
    ModelSpec,
    OutputOptions,
    RunRequest,
)
from agentcompass.records.task import PreparedTask, RunResult, TaskInput
from agentcompass.store.atomic import Disk, replacing
from agentcompass.store.layout import RunLayout
from agentcompass.store.redact import Redactor
from agentcompass.store.tasks import TaskFiles

KEY = "sk-test-ABCDEFGH12345678"
TASK_ID = "ok/2 é"

HEADER = TaskHeader(task_id=TASK_ID, category="default", ground_truth="42")
HEADER_3 = attrs.evolve(HEADER, attempt_plan=AttemptPlan(k=3, strategy="pass"))

FATAL = Issue(severity="fatal", phase="run", code="model_failed", message=f"HTTP 401: key {KEY}")

REQUEST = RunRequest(
    benchmark=ComponentSpec(
        id="toy", params={"file": "a.jsonl", "judge_api_key": KEY, "_cwd": "/"}
    ),
    harness=ComponentSpec(id="none"),
    model=ModelSpec(id="org/m", base_url="http://127.0.0.1:1/v1", api_key=KEY, params={"n": 1}),
    execution=ExecutionOptions(attempts=AttemptPlan(k=3, strategy="pass")),
    output=OutputOptions(run_name="nightly"),
)


def result(*, correct: bool | None = True, **fields: Any) -> AttemptResult:
    """The result of an attempt, solved unless told otherwise."""
    metrics = {} if correct is None else {"correct": correct}
    telemetry = {"telemetry": {"steps": 1}}
    meta = {"benchmark": {"note": "é", "empty": {}}, "harness": telemetry}
    return AttemptResult(**{"metrics": metrics, "final_answer": "42", "meta": meta, **fields})


def manifest(folder: str) -> ArtifactManifest:
    """One collected file in the artifacts of a folder."""
    entry = ArtifactEntry(
        source="/app/out.txt",
        destination="app/out.txt",
        status="collected",
        kind="file",
        sha256="00",
        size_bytes=14,
        file_count=1,
    )
    return ArtifactManifest(directory=f"{folder}/artifacts", complete=True, entries=(entry,))


def with_manifest(folder: str) -> AttemptResult:
    """A result that refers to artifacts, and whose trajectory quotes such a reference."""
    record = unstructure(manifest(folder))
    quote = f'{{"directory": "{folder}/artifacts"}}'
    return result(artifacts={"declared_artifacts": record}, trajectory={"steps": [quote]})


def checkpoint(attempt: int = 1, **fields: Any) -> EvaluationCheckpoint:
    """An agent's finished work."""
    return EvaluationCheckpoint(
        **{
            "task_id": TASK_ID,
            "attempt": attempt,
            "source_run_id": "r1",
            "source_evaluation_mode": "fresh",
            "run_result": RunResult(task_id=TASK_ID, final_answer="42", telemetry={"steps": 1}),
            "prepared_task": PreparedTask(
                task_id=TASK_ID, input=TaskInput(prompt="What is 6 x 7?")
            ),
            "network_policy": NetworkPolicy(),
            **fields,
        }
    )


def retry(attempt: int = 1, number: int = 1, **fields: Any) -> RetryDetail:
    """A discarded result."""
    return RetryDetail(
        **{
            "task_id": TASK_ID,
            "category": "default",
            "attempt": attempt,
            "retry": number,
            "max_retries": 2,
            "retry_delay_seconds": 3.5,
            "stage": "run_harness",
            "scope": "attempt",
            "matched_pattern": "fatal",
            "issues": (FATAL,),
            "discarded_result": RunResult(task_id=TASK_ID, issues=[FATAL]),
            **fields,
        }
    )


class SavedTasks:
    """The files of a run's tasks, each change made at once: by the methods of `TaskFiles`."""

    def __init__(
        self, layout: RunLayout, redactor: Redactor, disk: Disk, agent: AtifAgent | None = None
    ) -> None:
        self.layout, self.disk = layout, disk
        self._tasks = TaskFiles(layout=layout, redactor=redactor, agent=agent)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return partial(self._change, getattr(self._tasks, name))

    def _change(self, change: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        with replacing(self.disk) as files:
            return change(files, *args, **kwargs)
