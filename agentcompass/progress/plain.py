"""Progress as whole lines without escape codes, for pipes, logs and continuous integration."""

import attrs

from agentcompass.progress.board import Board, Traffic
from agentcompass.progress.text import duration, visible
from agentcompass.records.progress import ProgressEvent

EVERY_TASK = 50  # runs up to this size have a line for each task
PAUSE_SECONDS = 1.0  # in larger ones, tasks that went well share a line within this time


@attrs.define
class PlainLines:
    """Says what each event is worth on a line; `board` has taken note of it already."""

    board: Board
    _said_at: float = -PAUSE_SECONDS
    _said: dict[str, Traffic] = attrs.field(factory=dict)

    def line(self, event: ProgressEvent, now: float) -> str | None:
        """The line for an event, or None."""
        if event.event == "run_started":
            return f"run {visible(event.run_id)}: {visible(self.board.title)}"
        if event.event == "tasks_loaded":
            return f"{self.board.total} task{'' if self.board.total == 1 else 's'}"
        if event.event == "reuse_loaded":
            return f"{self.board.reused} of {self.board.total} tasks are taken over"
        if event.event == "attempt_retry":
            return self._retry(event)
        if event.event == "task_finished":
            return self._task(event, now)
        if event.event == "model_traffic":
            return self._traffic(str(event.payload.get("endpoint")))
        return self._end(now) if event.event == "run_finished" else None

    def _retry(self, event: ProgressEvent) -> str:
        payload = event.payload
        delay = payload.get("retry_delay_seconds")
        wait = f" in {delay:.1f} s" if isinstance(delay, int | float) else ""
        counts = f"{payload.get('retry')} of {payload.get('max_retries')}"
        return f"{_name(event)}: retry {counts} ({payload.get('scope')}){wait}"

    def _task(self, event: ProgressEvent, now: float) -> str | None:
        board = self.board
        severity = event.payload.get("severity")
        went_well = event.status == "completed" and severity != "error"
        if went_well and board.total > EVERY_TASK and now - self._said_at < PAUSE_SECONDS:
            return None
        self._said_at = now
        width = len(str(board.total))
        place = f"[{board.finished:>{width}}/{board.total}]"
        return f"{place} {_name(event)}: {_outcome(event)}{_so_far(board)}"

    def _traffic(self, endpoint: str) -> str | None:
        """Where fewer calls are made, or all again, and whenever the waits have doubled."""
        now, before = self.board.traffic[endpoint], self._said.get(endpoint, Traffic())
        fewer = now.is_reduced and (now.calls < before.calls or not before.is_reduced)
        all_again = before.is_reduced and not now.is_reduced
        more_waits = now.waits >= max(1, 2 * before.waits)
        if not (fewer or all_again or more_waits):
            return None
        self._said[endpoint] = now
        return f"model at {visible(endpoint)}: {now.text}"

    def _end(self, now: float) -> str:
        board = self.board
        error = f": {visible(board.error)}" if board.error else ""
        ended = f"{board.status.replace('_', ' ')} after {duration(board.elapsed(now))}"
        finished = f"{board.finished} of {board.total} tasks finished"
        failed = f", {board.failed} failed" if board.failed else ""
        failed += f", {board.with_errors} with errors" if board.with_errors else ""
        waits = sum(traffic.waits for traffic in board.traffic.values())
        waited = f", {waits} waits for the model" if waits else ""
        return f"{ended}: {finished}{failed}{waited}{error}"


def _name(event: ProgressEvent) -> str:
    attempt = f"#{event.attempt}" if event.attempt else ""
    return visible(str(event.task_id)) + attempt


def _outcome(event: ProgressEvent) -> str:
    """What was measured, or that nothing was, and what went wrong."""
    payload = event.payload
    severity = payload.get("severity")
    value, issue = payload.get("value"), payload.get("issue")
    parts = (
        [f"{payload.get('metric')} {value:g}"] if isinstance(value, int | float) else ["no value"]
    )
    if severity in ("error", "fatal"):
        parts.append(f"{severity}: {visible(str(issue))}" if issue else str(severity))
    if "metric" in payload:
        return ", ".join(parts)
    return f"{event.status} with errors" if severity == "error" else str(event.status)


def _so_far(board: Board) -> str:
    return f" ({board.failed} failed so far)" if board.failed else ""
