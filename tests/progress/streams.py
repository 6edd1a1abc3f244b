"""Streams of progress events: whole runs with tasks side by side, and pieces of nonsense."""

from typing import Any

from hypothesis import strategies as st

from agentcompass.progress.tracker import Tracker
from agentcompass.records.progress import ProgressEvent

NAMES = (
    *("run_started", "tasks_loaded", "reuse_loaded", "task_started", "phase_changed"),
    *("attempt_started", "execution_plan_resolved", "attempt_retry", "attempt_finished"),
    *("partial_saved", "task_finished", "summary_started", "run_finished", "from_the_future"),
)


def event(name: str, **fields: Any) -> ProgressEvent:
    return ProgressEvent(**{"run_id": "r", "event": name, "timestamp": 0.0, **fields})


def tracker() -> Tracker:
    return Tracker("r", "bench", "harness", "host_process", "model")


@st.composite
def one_task(draw: st.DrawFn, number: int, total: int) -> list[ProgressEvent]:
    """What one task emits, from its start to its end."""
    of_task = {"task_id": f"t{number}", "category": draw(st.sampled_from([None, "c"]))}
    place = {"index": number, "total": total}
    events = [event("task_started", **of_task, payload=place)]
    for attempt in range(1, draw(st.integers(1, 3)) + 1):
        events.append(event("attempt_started", **of_task, attempt=attempt))
        events.extend(
            event("phase_changed", **of_task, attempt=attempt, phase=phase)
            for phase in draw(st.lists(st.sampled_from(["plan", "run_harness", "evaluate"])))
        )
        events.append(event("attempt_finished", **of_task, attempt=attempt, status="completed"))
    severity = draw(st.sampled_from(["", "warning", "error", "fatal"]))
    status = "failed" if severity == "fatal" else draw(st.sampled_from(["completed", "skipped"]))
    events.append(event("partial_saved", **of_task))
    payload = {**place, "severity": severity}
    return [*events, event("task_finished", **of_task, status=status, payload=payload)]


@st.composite
def runs(draw: st.DrawFn) -> list[ProgressEvent]:
    """A whole run: some tasks reused, the others side by side, cut off somewhere."""
    to_run = draw(st.integers(0, 4))
    reused = draw(st.lists(st.sampled_from(["", "warning", "error", "fatal"]), max_size=3))
    total = to_run + len(reused)
    severities = {name: reused.count(name) for name in set(reused) if name}
    loaded = {
        "reused_tasks": len(reused),
        "tasks_to_run": to_run,
        "reused_severity_counts": severities,
    }
    head = [
        event("run_started"),
        event("tasks_loaded", payload={"total_tasks": total}),
        event("reuse_loaded", payload=loaded),
    ]
    queues = [draw(one_task(number, total)) for number in range(to_run)]
    body = []
    while any(queues):
        queue = draw(st.sampled_from([queue for queue in queues if queue]))
        body.append(queue.pop(0))
    body = body[: draw(st.integers(0, len(body)))] if draw(st.booleans()) else body
    status = draw(st.sampled_from(["completed", "failed", "cancelled", "timed_out"]))
    return [*head, *body, event("summary_started"), event("run_finished", status=status)]


numbers = st.integers(-2, 9) | st.sampled_from([None, "x", 2.5, True])
nonsense = st.lists(
    st.builds(
        event,
        st.sampled_from(NAMES),
        task_id=st.sampled_from([None, "a", "b"]),
        attempt=st.sampled_from([None, 1, 2]),
        phase=st.sampled_from([None, "plan", "evaluate"]),
        status=st.sampled_from([None, "completed", "failed", "skipped", "odd"]),
        timestamp=st.floats(-1e9, 1e9),
        payload=st.dictionaries(
            st.sampled_from(["total_tasks", "reused_tasks", "tasks_to_run", "severity"]), numbers
        )
        | st.just({"reused_severity_counts": {"fatal": 3}, "severity": "error"})
        | st.just({"reused_severity_counts": [1]}),
    ),
    max_size=30,
)
