"""Every finished attempt of a run, one task after another, and its trajectory in ATIF."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from agentcompass.errors import StoreError, UsageError
from agentcompass.records.atif import AtifAgent, atif_document
from agentcompass.records.attempt import AttemptResult, TaskHeader
from agentcompass.records.run_info import RunInfo
from agentcompass.store.layout import AttemptLayout, TaskLayout, task_folder
from agentcompass.store.reading import StoredTask, UnreadableTask, read_run_info, read_tasks
from agentcompass.store.redact import Redactor

Record = Mapping[str, Any]


@attrs.frozen(kw_only=True)
class Source:
    """The run to export: what is masked in it, and what stops the export by raising."""

    directory: Path
    redactor: Redactor = attrs.field(factory=Redactor)
    go_on: Callable[[], object] = bool

    def info(self) -> RunInfo:
        """run_info.json; raises `UsageError` for what is no run."""
        try:
            return read_run_info(self.directory, plans=False)
        except StoreError as error:
            raise UsageError(str(error)) from error


@attrs.frozen(kw_only=True)
class Finished:
    """An attempt that has a result; `header` is None while its task goes on."""

    task_id: str
    number: int
    header: TaskHeader | None
    result: AttemptResult
    files: AttemptLayout

    @property
    def label(self) -> str:
        """The attempt's folder below that of its state, which no other attempt of the run has."""
        return f"{task_folder(self.task_id)}/{self.files.directory.name}"


def finished_attempts(source: Source) -> Iterator[Finished | UnreadableTask]:
    """Each attempt that has a result, also of tasks that go on; the unreadable tasks named."""
    for task in read_tasks(source.directory):
        source.go_on()
        if isinstance(task, UnreadableTask):
            yield task
        elif task.directory.name != task_folder(task.task_id):
            fault = f"{task.directory}: not the folder of task {task.task_id!r}"
            yield UnreadableTask(directory=task.directory, fault=fault)
        else:
            yield from _finished(task)


def _finished(task: StoredTask) -> Iterator[Finished]:
    for number, result in task.attempts.items():
        if result is not None:
            yield Finished(
                task_id=task.task_id,
                number=number,
                header=task.header,
                result=result,
                files=TaskLayout(task.directory).attempt(number),
            )


def trajectory(attempt: Finished, agent: AtifAgent) -> Record | None:
    """The attempt's trajectory in ATIF, None where there is none; `agent` names the run."""
    session = f"{agent.session_id}/{attempt.label}"
    return atif_document(attempt.result.trajectory, attrs.evolve(agent, session_id=session))
