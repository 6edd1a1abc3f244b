"""What the terminal shows of a run: counts, running tasks and failures, folded from events."""

from collections import deque
from collections.abc import Callable, Mapping

import attrs

from agentcompass.records.progress import ProgressEvent

NAMED = 3  # the latest failed tasks whose names are kept


@attrs.define
class Running:
    """A task that runs: its latest attempt and phase, and since when both, in seconds."""

    since: float
    attempt: int | None = None
    phase: str = "starting"
    phase_since: float = attrs.field()

    @phase_since.default
    def _since(self) -> float:
        return self.since


@attrs.frozen
class Traffic:
    """What an endpoint admits of the calls, `of` being all, both 0 where it is not known."""

    calls: int = 0
    of: int = 0
    waits: int = 0

    @property
    def is_reduced(self) -> bool:
        """Whether fewer calls at once are made than there could be."""
        return self.calls < self.of

    @property
    def text(self) -> str:
        """In words, for a line that begins with the endpoint."""
        waits = f"{self.waits} wait{'' if self.waits == 1 else 's'} for room" if self.waits else ""
        calls = f"{self.calls} of {self.of} calls at once" if self.of else ""
        return ", ".join(filter(None, (calls, waits)))


@attrs.define
class Board:
    """The state of one run. `now` is seconds on any clock that never steps back."""

    title: str = ""
    status: str = "created"
    error: str = ""
    total: int = 0
    reused: int = 0
    completed: int = 0
    failed: int = 0
    skipped: int = 0
    with_errors: int = 0
    retries: int = 0
    began: float | None = None
    ended: float | None = None
    running: dict[str, Running] = attrs.field(factory=dict)
    traffic: dict[str, Traffic] = attrs.field(factory=dict)
    failures: deque[str] = attrs.field(factory=lambda: deque(maxlen=NAMED))

    @property
    def finished(self) -> int:
        """How many tasks are done, reused ones included."""
        return self.reused + self.completed + self.failed + self.skipped

    def elapsed(self, now: float) -> float:
        """Seconds from the start to the end, or to `now`."""
        if self.began is None:
            return 0.0
        return (now if self.ended is None else self.ended) - self.began

    def apply(self, event: ProgressEvent, now: float) -> None:
        """Take note of one event; what it does not know, it passes over."""
        if event.event in _FOLDS:
            _FOLDS[event.event](self, event, now)


def _run_started(board: Board, event: ProgressEvent, now: float) -> None:
    payload = event.payload
    what = " / ".join(str(payload.get(key)) for key in ("benchmark", "harness", "model"))
    board.title = f"{what} on {payload.get('environment')}"
    board.status, board.began = "running", now


def _tasks_loaded(board: Board, event: ProgressEvent, _now: float) -> None:
    board.total = _number(event, "total_tasks")


def _reuse_loaded(board: Board, event: ProgressEvent, _now: float) -> None:
    board.reused = _number(event, "reused_tasks")


def _task_started(board: Board, event: ProgressEvent, now: float) -> None:
    board.running[str(event.task_id)] = Running(since=now)


def _attempt_moved(board: Board, event: ProgressEvent, now: float) -> None:
    task = board.running.get(str(event.task_id))
    if task is None:
        return
    moved = (event.attempt or task.attempt, event.phase or task.phase)
    if moved != (task.attempt, task.phase):
        (task.attempt, task.phase), task.phase_since = moved, now


def _attempt_retry(board: Board, _event: ProgressEvent, _now: float) -> None:
    board.retries += 1


def _task_finished(board: Board, event: ProgressEvent, _now: float) -> None:
    board.running.pop(str(event.task_id), None)
    if event.status == "failed":
        board.failed += 1
        board.failures.append(str(event.task_id))
    elif event.status == "skipped":
        board.skipped += 1
    else:
        board.completed += 1
    board.with_errors += event.payload.get("severity") == "error"


def _model_traffic(board: Board, event: ProgressEvent, _now: float) -> None:
    board.traffic[str(event.payload.get("endpoint"))] = Traffic(
        calls=_number(event, "calls_at_once"),
        of=_number(event, "most_at_once"),
        waits=_number(event, "waits"),
    )


def _summary_started(board: Board, _event: ProgressEvent, _now: float) -> None:
    board.status = "summarizing"


def _run_finished(board: Board, event: ProgressEvent, now: float) -> None:
    board.status, board.ended = event.status or "completed", now
    board.error = str(event.payload.get("error") or "")
    board.running.clear()


def _number(event: ProgressEvent, name: str) -> int:
    value = event.payload.get(name)
    return value if isinstance(value, int) else 0


_FOLDS: Mapping[str, Callable[[Board, ProgressEvent, float], None]] = {
    "run_started": _run_started,
    "tasks_loaded": _tasks_loaded,
    "reuse_loaded": _reuse_loaded,
    "task_started": _task_started,
    "attempt_started": _attempt_moved,
    "phase_changed": _attempt_moved,
    "attempt_retry": _attempt_retry,
    "task_finished": _task_finished,
    "model_traffic": _model_traffic,
    "summary_started": _summary_started,
    "run_finished": _run_finished,
}
