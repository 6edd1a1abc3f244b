"""The fold of events (properties 11 and 12 of the style), its counts and its clock (case 83)."""

import attrs
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.records.progress import ActiveTask, ProgressEvent, ProgressSnapshot
from tests.progress.streams import event, nonsense, runs, tracker

COUNTS = [
    field.name
    for field in attrs.fields(ProgressSnapshot)
    if field.name.endswith(("_tasks", "_started", "_finished", "_saved"))
    and field.name != "active_tasks"
]


def fold(events: list[ProgressEvent]) -> ProgressSnapshot:
    folded = tracker()
    for each in events:
        folded.apply(each)
    return folded.snapshot()


def test_before_any_event_the_run_is_created() -> None:
    assert tracker().snapshot() == ProgressSnapshot(
        run_id="r", benchmark="bench", harness="harness", environment="host_process", model="model"
    )


def test_a_task_is_followed_from_its_start_to_its_end() -> None:
    folded = tracker()
    folded.apply(event("run_started", timestamp=100.0))
    folded.apply(event("tasks_loaded", timestamp=100.5, payload={"total_tasks": 2}))
    folded.apply(event("task_started", timestamp=101.0, task_id="a", category="c"))
    assert folded.snapshot().active_tasks == {"a": ActiveTask(category="c", updated_at=101.0)}
    folded.apply(event("attempt_started", timestamp=102.0, task_id="a", attempt=1))
    folded.apply(
        event(
            "phase_changed",
            timestamp=103.25,
            task_id="a",
            attempt=1,
            phase="evaluate",
            payload={"n": 1},
        )
    )
    snapshot = folded.snapshot()

    assert snapshot.status == "running"
    assert (snapshot.pending_tasks, snapshot.running_tasks, snapshot.total_tasks) == (1, 1, 2)
    assert snapshot.current_phase_counts == {"evaluate": 1}
    assert snapshot.active_tasks == {
        "a": ActiveTask(
            category="c", phase="evaluate", attempt=1, updated_at=103.25, details={"n": 1}
        )
    }
    assert (snapshot.elapsed_seconds, snapshot.updated_at) == (3.25, 103.25)


def test_a_resolved_plan_and_a_retry_keep_the_details_of_the_phase() -> None:
    started = [event("task_started", task_id="a"), event("attempt_started", task_id="a", attempt=2)]
    snapshot = fold([*started, event("execution_plan_resolved", task_id="a", phase="plan")])
    assert snapshot.current_phase_counts == {"plan": 1}

    snapshot = fold(
        [*started, event("attempt_retry", task_id="a", attempt=2, payload={"retry": 1})]
    )
    assert snapshot.active_tasks["a"].details == {}
    assert snapshot.attempts_started == 1


def test_of_attempts_at_once_the_last_to_speak_is_shown() -> None:
    snapshot = fold(
        [
            event("task_started", task_id="a"),
            event("phase_changed", task_id="a", attempt=1, phase="evaluate"),
            event("phase_changed", task_id="a", attempt=2, phase="plan"),
        ]
    )

    assert snapshot.active_tasks["a"].attempt == 2
    assert snapshot.current_phase_counts == {"plan": 1}


def test_reused_tasks_are_counted_by_their_severity() -> None:
    """A reused FATAL task has failed; the peer counts it as completed."""
    severities = {"fatal": 1, "error": 2, "warning": 1}
    payload = {"reused_tasks": 5, "tasks_to_run": 3, "reused_severity_counts": severities}
    snapshot = fold(
        [event("tasks_loaded", payload={"total_tasks": 8}), event("reuse_loaded", payload=payload)]
    )

    assert (snapshot.reused_tasks, snapshot.finished_tasks, snapshot.pending_tasks) == (5, 5, 3)
    assert (snapshot.completed_tasks, snapshot.failed_tasks) == (4, 1)
    assert (snapshot.error_tasks, snapshot.warning_tasks) == (2, 1)


@given(runs())
def test_the_counts_add_up_at_every_moment(events: list[ProgressEvent]) -> None:
    """Property 12. Fails without `_less` in task_started, or when a reused FATAL counts twice."""
    folded = tracker()
    for each in events:
        folded.apply(each)
        now = folded.snapshot()
        if each.event in ("run_started", "tasks_loaded"):
            continue
        assert now.pending_tasks + now.running_tasks + now.finished_tasks == now.total_tasks or (
            now.status not in ("running", "summarizing")
        )
        assert now.completed_tasks + now.failed_tasks + now.skipped_tasks == now.finished_tasks
        assert now.running_tasks == len(now.active_tasks)
        assert sum(now.current_phase_counts.values()) == len(now.active_tasks)
        assert now.attempts_finished <= now.attempts_started


@given(runs())
def test_a_finished_run_has_nothing_active(events: list[ProgressEvent]) -> None:
    """Fails when run_finished does not clear the phases."""
    snapshot = fold(events)

    assert snapshot.status == events[-1].status
    assert snapshot.active_tasks == snapshot.current_phase_counts == {}
    assert snapshot.pending_tasks == snapshot.total_tasks - snapshot.finished_tasks


@given(nonsense)
def test_any_stream_is_taken_and_no_count_is_negative(events: list[ProgressEvent]) -> None:
    """Fails when a count is taken from a payload unseen, or goes down without `_less`."""
    folded = tracker()
    for each in events:
        folded.apply(each)
        snapshot = folded.snapshot()
        assert all(getattr(snapshot, name) >= 0 for name in COUNTS)
        assert all(count > 0 for count in snapshot.current_phase_counts.values())


@given(st.lists(st.floats(-1e6, 1e6), min_size=1))
def test_a_wall_clock_that_steps_back_never_makes_time_negative(moments: list[float]) -> None:
    """Case 83. Fails when elapsed time is the difference to the latest time stamp."""
    folded = tracker()
    elapsed = 0.0
    for moment in moments:
        folded.apply(event("phase_changed", timestamp=moment))
        now = folded.snapshot()
        assert now.elapsed_seconds >= elapsed
        assert now.updated_at == moment
        elapsed = now.elapsed_seconds


def test_the_callers_monotonic_clock_is_believed_before_the_time_stamps() -> None:
    folded = tracker()
    folded.apply(event("run_started", timestamp=5000.0), elapsed_seconds=0.0)
    folded.apply(event("summary_started", timestamp=1400.0), elapsed_seconds=59.9996)

    assert folded.snapshot().elapsed_seconds == 60.0
