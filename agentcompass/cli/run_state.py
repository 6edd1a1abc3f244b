"""What `agentcompass status` says of a run, as facts and in words."""

import datetime as dt
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agentcompass.cli.output import plain_table
from agentcompass.cli.result import fatal_issues
from agentcompass.progress.text import duration, visible
from agentcompass.progress.watched import WatchedRun

ROWS = 10  # running tasks that are shown, those that have run the longest
ENOUGH = 3  # tasks that have to be done before the time that is left is guessed from them

_MEANINGS = {
    "stale": "its process is gone and has written no end; its command with --reuse goes on from it",
    "unknown": "no end is on record, and it cannot be told from here whether its process runs",
}


def facts(run: WatchedRun) -> dict[str, Any]:
    """The state of a run as JSON; times are in seconds, and null where they are not known."""
    board, now = run.board, run.now()
    return {
        "run_dir": str(run.layout.directory),
        "state": run.state,
        "alive": run.alive,
        "error": run.error or board.error or None,
        "title": board.title,
        "tasks": _tasks(run),
        "retries": board.retries,
        "elapsed_seconds": None if board.began is None else round(board.elapsed(now), 3),
        "seconds_left": _seconds_left(run, now),
        "last_event": _last_event(run),
        "running": [
            {
                "task_id": task_id,
                "attempt": task.attempt,
                "phase": task.phase,
                "phase_seconds": round(now - task.phase_since, 3),
                "seconds": round(now - task.since, 3),
            }
            for task_id, task in sorted(board.running.items(), key=lambda each: each[1].since)
        ],
        "faults": list(_faults(run)),
    }


def in_words(found: Mapping[str, Any], directory: Path) -> str:
    """The same for people, with the FATAL issues of the first tasks that failed."""
    return "\n".join((*_head(found), *_running(found), *_issues(found, directory)))


def in_rows(found: Mapping[str, Mapping[str, Any]]) -> str:
    """The facts of several runs by name, a row for each."""
    headers = ("Request", "State", "Finished", "Running", "Failed", "Time", "Run directory")
    return plain_table(headers, [_state_row(name, run) for name, run in found.items()])


def _state_row(name: str, found: Mapping[str, Any]) -> tuple[str, ...]:
    tasks, elapsed = found["tasks"], found["elapsed_seconds"]
    return (
        name,
        found["state"].replace("_", " "),
        f"{tasks['finished']} of {tasks['total']}",
        str(tasks["running"]),
        str(tasks["failed"]),
        "-" if elapsed is None else duration(elapsed),
        found["run_dir"],
    )


def _tasks(run: WatchedRun) -> dict[str, int]:
    board = run.board
    return {
        "total": board.total,
        "finished": board.finished,
        "running": len(board.running),
        "waiting": max(0, board.total - board.finished - len(board.running)),
        "reused": board.reused,
        "failed": board.failed,
        "with_errors": board.with_errors,
        "skipped": board.skipped,
    }


def _seconds_left(run: WatchedRun, now: float) -> float | None:
    """At the pace so far; None where too little is done to tell, or where the run is over."""
    board = run.board
    done = board.finished - board.reused
    if run.state != "running" or done < ENOUGH:
        return None
    return round(board.elapsed(now) / done * max(0, board.total - board.finished), 1)


def _last_event(run: WatchedRun) -> dict[str, Any] | None:
    if run.last is None:
        return None
    return {
        "event": run.last.event,
        "at": _instant(run.last.timestamp),
        "seconds_ago": round(time.time() - run.last.timestamp, 3),
    }


def _instant(timestamp: float) -> str | None:
    try:
        return dt.datetime.fromtimestamp(timestamp).astimezone().isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):  # no time that there is: the line is damaged
        return None


def _faults(run: WatchedRun) -> Iterator[str]:
    if run.fault:
        yield run.fault
    if run.unreadable:
        lines = "1 line" if run.unreadable == 1 else f"{run.unreadable} lines"
        yield f"{run.layout.events}: {lines} cannot be read and were passed over"


def _head(found: Mapping[str, Any]) -> Iterator[str]:
    state = found["state"]
    title = visible(found["title"]) or "a run that has not begun"
    yield f"{title}: {state.replace('_', ' ')}"
    if why := found["error"] or _MEANINGS.get(state):
        yield visible(f"Why: {why}")
    yield _counts(found)
    yield _times(found)
    yield from (visible(f"Damaged: {fault}") for fault in found["faults"])
    yield f"Run directory: {found['run_dir']}"


def _counts(found: Mapping[str, Any]) -> str:
    tasks = found["tasks"]
    retries = {"retry" if found["retries"] == 1 else "retries": found["retries"]}
    named = {**{key.replace("_", " "): tasks[key] for key in tasks}, **retries}
    if found["state"] == "stale":
        named["cut off"] = named.pop("running")
    total, finished = named.pop("total"), named.pop("finished")
    more = "".join(f", {number} {what}" for what, number in named.items() if number)
    return f"Tasks: {finished} of {total} finished{more}"


def _times(found: Mapping[str, Any]) -> str:
    parts = []
    if found["elapsed_seconds"] is not None:
        parts.append(duration(found["elapsed_seconds"]))
    if found["seconds_left"] is not None:
        parts.append(f"about {duration(found['seconds_left'])} left")
    if last := found["last_event"]:
        ago = duration(last["seconds_ago"])
        parts.append(f"last event {visible(last['event'])} {ago} ago, {last['at'] or 'at no time'}")
    return f"Time: {', '.join(parts) or 'nothing is on record yet'}"


def _running(found: Mapping[str, Any]) -> Iterator[str]:
    running = found["running"]
    if not running:
        return
    headers = ("Task", "Attempt", "Phase", "In phase", "In all")
    yield plain_table(headers, [_row(task) for task in running[:ROWS]])
    if len(running) > ROWS:
        yield f"and {len(running) - ROWS} more"


def _row(task: Mapping[str, Any]) -> tuple[str, ...]:
    attempt = "" if task["attempt"] is None else str(task["attempt"])
    times = duration(task["phase_seconds"]), duration(task["seconds"])
    return (task["task_id"], attempt, task["phase"], *times)


def _issues(found: Mapping[str, Any], directory: Path) -> Iterator[str]:
    if found["tasks"]["failed"] or found["state"] == "failed":
        yield from (f"Failed: {line}" for line in fatal_issues(directory))
