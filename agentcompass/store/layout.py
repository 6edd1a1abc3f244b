"""Every path of a run directory; only `store.takeover`, to which each one counts, joins some.

<results_dir>/<run_name parts>/<model>_<benchmark>_<harness>/<run_id>/
    run.log run_info.json params.json progress.jsonl progress.json metrics.json summary.md
    .env-resources/<id>.json                            what is open outside this process
    details/<state>/<readable task id>--<sha256>/
        task.json
        attempt-<n>/
            result.json checkpoint.json artifacts/ (and in it trajectory.atif.json)
            exchanges.jsonl                         the model's calls, where they are recorded
            retries/<task>.attempt<n>.retry<r>.<stage>.json
            retries/<uuid>/                         what an execution left that was run again
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Literal

import attrs

from agentcompass.records.attempt import attempt_name

State = Literal["running", "normal", "error", "fatal"]
STATES: tuple[State, ...] = ("running", "normal", "error", "fatal")

# Below a run directory: what the run has open outside this process.
RESOURCES = ".env-resources"

LONGEST_NAME = 255  # bytes, on every file system that matters
# The records of a task and of its attempts, and what else an attempt may have.
INDEX, RESULT, CHECKPOINT = "task.json", "result.json", "checkpoint.json"
EXCHANGES, ARTIFACTS = "exchanges.jsonl", "artifacts"

_AT_WORK = 256  # layouts that are kept
_READABLE = 80
_DIGEST = 64

_ATTEMPT = re.compile(r"attempt-([1-9][0-9]*)")
_ODD = re.compile(r"[^A-Za-z0-9._=-]+")


def sanitized(text: str) -> str:
    """`text` with every run of characters outside `A-Z a-z 0-9 . _ = -` as one `_`."""
    return _ODD.sub("_", text)


@lru_cache(maxsize=1024)
def task_folder(task_id: str) -> str:
    """The folder name of a task: a readable part, and the hash that keeps ids apart.

    Ids that differ only in case, normal form, or in what is cut off have different hashes, so they
    never share a folder; the id itself is only in task.json.
    """
    readable = sanitized(task_id).strip("._-")[:_READABLE] or "task"
    return f"{readable}--{hashlib.sha256(_bytes(task_id)).hexdigest()}"


def fitted(name: str) -> str:
    """`name`, which is sanitized, or where it is too long for a file name its head and its hash."""
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 2 - _DIGEST]}--{hashlib.sha256(name.encode()).hexdigest()}"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def state_of(severity: str) -> State:
    """The state of a finished task by the heaviest severity among its issues."""
    return severity if severity in ("error", "fatal") else "normal"  # type: ignore[return-value]


@attrs.frozen
class AttemptLayout:
    """The files of one attempt."""

    directory: Path

    @cached_property
    def result(self) -> Path:
        """What became of the attempt."""
        return self.directory / RESULT

    @cached_property
    def checkpoint(self) -> Path:
        """What a later run can go on from."""
        return self.directory / CHECKPOINT

    @cached_property
    def exchanges(self) -> Path:
        """The calls of the model, where they are recorded; of every execution."""
        return self.directory / EXCHANGES

    @cached_property
    def artifacts(self) -> Path:
        """What was collected from the sandbox."""
        return self.directory / ARTIFACTS

    @cached_property
    def atif(self) -> Path:
        """The agent's trajectory as other tools read it, among what was collected."""
        return self.artifacts / "trajectory.atif.json"

    @cached_property
    def retries(self) -> Path:
        """What earlier executions of the attempt left."""
        return self.directory / "retries"

    def records(self) -> list[Path]:
        """Every record of the attempt that exists, the earlier ones too; no artifact."""
        own = [path for path in (self.result, self.checkpoint) if path.exists()]
        return own + self.earlier_records()

    def earlier_records(self) -> list[Path]:
        """Every record of what was retried or executed again."""
        if not self.retries.is_dir():
            return []
        return [*self.retries.glob("*.json"), *self.retries.glob("*/*.json")]


@attrs.frozen
class TaskLayout:
    """The files of one task in one state."""

    directory: Path
    _attempts: dict[int, AttemptLayout] = attrs.field(
        factory=dict, init=False, eq=False, repr=False
    )

    @cached_property
    def index(self) -> Path:
        """Which attempts there are, and what they share."""
        return self.directory / INDEX

    def attempt(self, number: int) -> AttemptLayout:
        """The files of attempt `number`."""
        if number not in self._attempts:
            self._attempts[number] = AttemptLayout(self.directory / attempt_name(number))
        return self._attempts[number]

    def attempt_numbers(self) -> list[int]:
        """The attempts that have a folder; blocking."""
        found = map(_ATTEMPT.fullmatch, os.listdir(self.directory))  # noqa: PTH208
        return sorted(int(match[1]) for match in found if match)


@attrs.frozen
class RunLayout:
    """The files of one run."""

    directory: Path
    _task: Callable[[str, str], TaskLayout] = attrs.field(init=False, eq=False, repr=False)

    @cached_property
    def run_info(self) -> Path:
        """Where the run came from and how it ended."""
        return self.directory / "run_info.json"

    @cached_property
    def params(self) -> Path:
        """The few parameters that metrics depend on."""
        return self.directory / "params.json"

    @cached_property
    def metrics(self) -> Path:
        """Every aggregated metric."""
        return self.directory / "metrics.json"

    @cached_property
    def summary(self) -> Path:
        """The metrics as people read them."""
        return self.directory / "summary.md"

    @cached_property
    def progress(self) -> Path:
        """The latest snapshot."""
        return self.directory / "progress.json"

    @cached_property
    def events(self) -> Path:
        """Every event, one a line."""
        return self.directory / "progress.jsonl"

    @cached_property
    def log(self) -> Path:
        """What the program said."""
        return self.directory / "run.log"

    @cached_property
    def details(self) -> Path:
        """The tasks."""
        return self.directory / "details"

    def task(self, task_id: str, state: State) -> TaskLayout:
        """The files of a task in `state`."""
        return self._task(task_id, state)

    @_task.default
    def _kept_tasks(self) -> Callable[[str, str], TaskLayout]:
        # While a task is at work its files are asked for again and again.
        return lru_cache(_AT_WORK)(partial(_task_layout, self.directory))

    def reference(self, path: Path) -> str:
        """What records say of a path in the run directory."""
        return str(path)[self._length :]

    @cached_property
    def _length(self) -> int:
        return len(str(self.details)) - len("details")

    def task_folders(self) -> Iterator[tuple[State | None, Path]]:
        """Every folder of a task with its state, by name; blocking.

        The state is None for the older `details/<task>`. Links are passed over.
        """
        for state, name in self.task_names():
            yield state, self.folder(name, state)

    def task_names(self) -> Iterator[tuple[State | None, str]]:
        """The same, each folder by its name."""
        yield from ((None, name) for name in _folders(self.details) if name not in STATES)
        for state in STATES:
            yield from ((state, name) for name in _folders(self.details / state))

    def folder(self, name: str, state: State | None) -> Path:
        """The folder of that name; without a state it is one of the older layout."""
        return self.details / name if state is None else self.details / state / name


def _task_layout(run: Path, task_id: str, state: str) -> TaskLayout:
    return TaskLayout(run.joinpath("details", state, task_folder(task_id)))


def _folders(path: Path) -> list[str]:
    if not path.is_dir() or path.is_symlink():
        return []
    with os.scandir(path) as entries:
        return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))


def retry_file(task_id: str, attempt: int, retry: int, stage: str) -> str:
    """The name of the file with a discarded result."""
    where = re.sub(r"[/:]", "_", stage)
    return f"{task_folder(task_id)}.attempt{attempt}.retry{retry}.{sanitized(where)}.json"
