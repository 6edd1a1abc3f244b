"""Runs that go on from earlier ones, on the real store and the virtual clock."""

import math
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcompass.engine.request import Outcome
from agentcompass.engine.tree import run_job
from agentcompass.records.request import AttemptPlan, OutputOptions, ReuseOptions
from agentcompass.records.run_info import RunInfo
from agentcompass.store.location import run_location
from agentcompass.store.reading import StoredTask, read_run_info, read_tasks
from agentcompass.store.reuse_source import find_reuse_source
from tests import virtual
from tests.fakes import MemoryStore, Script, Scripted, World, make_job
from tests.whole_runs import on_disk

REUSE = ReuseOptions(reuse=True)


@attrs.frozen
class Ran:
    """One run of a scripted world in a results folder, and what it left."""

    world: World
    directory: Path
    outcome: Outcome | None

    @property
    def info(self) -> RunInfo:
        return read_run_info(self.directory)

    @property
    def tasks(self) -> dict[str, StoredTask]:
        found = list(read_tasks(self.directory))
        assert all(isinstance(task, StoredTask) for task in found), found
        return {task.task_id: task for task in found}

    @property
    def counts(self) -> Mapping[str, int]:
        assert self.outcome is not None
        return self.outcome.reuse["reuse_counts"]


def run(
    folder: Path,
    tasks: Mapping[str, Scripted],
    run_id: str,
    *,
    runtime: ReuseOptions | None = None,
    stop_after: float = math.inf,
    **options: Any,
) -> Ran:
    world = World(tasks)

    async def main() -> Outcome | None:
        job = make_job(world, MemoryStore(), **options)
        request = attrs.evolve(
            job.request,
            output=OutputOptions(run_id=run_id),
            runtime=runtime or ReuseOptions(),
        )
        location = run_location(folder, request)
        find = partial(find_reuse_source, location, request) if request.runtime.reuse else None
        job = on_disk(attrs.evolve(job, request=request, find_source=find), folder)
        with trio.move_on_after(stop_after):
            return await run_job(job)
        return None

    outcome = virtual.run(main)
    return Ran(world, folder / "none_scripted_scripted" / run_id, outcome)


def scripted(task_id: str, *scripts: Script, mode: str = "none") -> Scripted:
    return Scripted(task_id=task_id, scripts={1: scripts}, mode=mode)


def test_only_what_had_not_finished_is_executed(tmp_path: Path) -> None:
    tasks = {name: scripted(name, Script(run_seconds=at)) for name, at in (("a", 1), ("b", 9))}
    run(tmp_path, tasks, "first", stop_after=5)
    second = run(tmp_path, tasks, "second", runtime=REUSE)
    assert second.world.agent_runs == {("b", 1): 1}
    assert second.counts == {"reused": 1, "resumed": 0, "executed": 1}
    assert second.info.reused_from is not None
    assert second.info.reused_from.run_id == "first"
    kept = second.tasks["a"].attempts[1]
    assert kept is not None
    assert kept.artifacts["reuse_history"] == {"source_run": "first", "retry_count": 0}


def test_work_that_lacks_a_verdict_is_scored_without_its_agent(tmp_path: Path) -> None:
    slow = Script(run_seconds=1, score_seconds=100)
    tasks = {"t": scripted("t", slow, mode="fresh")}
    run(tmp_path, tasks, "first", stop_after=50)
    second = run(tmp_path, tasks, "second", runtime=REUSE)
    assert second.world.agent_runs == {}
    assert second.world.scorings == {("t", 1): 1}
    assert second.counts == {"reused": 0, "resumed": 1, "executed": 0}
    result = second.tasks["t"].attempts[1]
    assert result is not None
    assert (result.metrics, result.final_answer) == ({"correct": True}, "done")


def test_no_checkpoint_resume_runs_the_agent_again(tmp_path: Path) -> None:
    tasks = {"t": scripted("t", Script(score_seconds=100), mode="none")}
    run(tmp_path, tasks, "first", stop_after=50)
    runtime = attrs.evolve(REUSE, checkpoint_resume=False, reuse_run_id="first")
    second = run(tmp_path, tasks, "second", runtime=runtime)
    assert second.world.agent_runs == {("t", 1): 1}


def test_saved_work_for_another_mode_is_not_scored_but_kept_as_evidence(tmp_path: Path) -> None:
    slow = Script(score_seconds=100)
    run(tmp_path, {"t": scripted("t", slow, mode="none")}, "first", stop_after=50)
    second = run(tmp_path, {"t": scripted("t", slow, mode="reuse")}, "second", runtime=REUSE)
    assert second.world.agent_runs == {("t", 1): 1}
    assert second.counts == {"reused": 0, "resumed": 0, "executed": 1}
    evidence = second.tasks["t"].directory.glob("attempt-1/retries/*/checkpoint.json")
    assert len(list(evidence)) == 1


def test_a_run_in_which_all_is_reused_opens_nothing(tmp_path: Path) -> None:
    tasks = {name: scripted(name, Script(verdict=name == "a")) for name in "ab"}
    first = run(tmp_path, tasks, "first")
    second = run(tmp_path, tasks, "second", runtime=REUSE)
    assert second.world.opened == 0
    assert second.outcome is not None
    assert first.outcome is not None
    assert second.outcome.report == first.outcome.report
    assert second.outcome.status == "completed"


def test_fatal_and_unscored_attempts_are_executed_again_and_wrong_answers_stay(
    tmp_path: Path,
) -> None:
    tasks = {
        "wrong": scripted("wrong", Script(verdict=False), mode="reuse"),
        "fatal": scripted("fatal", Script(agent="fatal"), mode="reuse"),
        "unscored": scripted("unscored", Script(scoring="error"), mode="reuse"),
        "out of time": scripted("out of time", Script(agent="error"), mode="reuse"),
    }
    run(tmp_path, tasks, "first")
    second = run(tmp_path, tasks, "second", runtime=REUSE)
    assert second.world.agent_runs == {("fatal", 1): 1, ("unscored", 1): 1}
    third = run(
        tmp_path,
        tasks,
        "third",
        runtime=REUSE,
        max_retries=1,
        retry_pattern_list=("rate limit",),
    )
    assert third.world.agent_runs["out of time", 1] == 2


def test_attempts_missing_in_the_chosen_run_are_looked_for_in_the_one_that_it_reused(
    tmp_path: Path,
) -> None:
    tasks = {name: scripted(name, Script(run_seconds=1)) for name in "ab"}
    run(tmp_path, {"a": tasks["a"]}, "first")
    run(tmp_path, tasks, "second", runtime=attrs.evolve(REUSE, reuse_run_id="first"))
    [taken] = tmp_path.glob("*/second/details/normal/a--*")
    taken.rename(tmp_path / "lost")
    third = run(tmp_path, tasks, "third", runtime=attrs.evolve(REUSE, reuse_run_id="second"))
    assert third.world.opened == 0
    kept = third.tasks["a"].attempts[1]
    assert kept is not None
    assert kept.artifacts["reuse_history"]["source_run"] == "first"


scripts = st.builds(
    Script,
    run_seconds=st.integers(0, 8).map(float),
    score_seconds=st.integers(0, 8).map(float),
    agent=st.sampled_from(["", "", "", "error", "fatal", "bug"]),
    scoring=st.sampled_from(["", "", "", "error", "fatal"]),
    verdict=st.booleans(),
)


@st.composite
def steady_tasks(draw: st.DrawFn) -> dict[str, Scripted]:
    """Tasks whose attempts go the same way each time they are executed."""
    return {
        name: Scripted(
            task_id=name,
            scripts={attempt: [draw(scripts)] for attempt in (1, 2, 3)},
            mode=draw(st.sampled_from(["none", "reuse", "fresh"])),
        )
        for name in "abc"[: draw(st.integers(1, 3))]
    }


def finished(ran: Ran) -> set[tuple[str, int]]:
    """The attempts on disk that count: scored, and not FATAL."""
    return {
        (task.task_id, number)
        for task in ran.tasks.values()
        for number, result in task.attempts.items()
        if result is not None
        and result.metrics
        and all(issue.severity != "fatal" for issue in result.issues)
    }


@settings(max_examples=40)
@given(
    tasks=steady_tasks(),
    stops=st.lists(st.integers(0, 30), min_size=1, max_size=2),
    plan=st.builds(AttemptPlan, k=st.integers(1, 3), strategy=st.sampled_from(["avg", "pass"])),
    slots=st.integers(1, 3),
)
def test_stopped_anywhere_and_reused_a_run_ends_as_if_it_had_not_been_stopped(
    tasks: dict[str, Scripted], stops: list[int], plan: AttemptPlan, slots: int
) -> None:
    """Caught: a source that keeps what does not count; a task done with an attempt missing."""
    options: dict[str, Any] = {"attempts": plan, "slots": slots}
    with tempfile.TemporaryDirectory() as name:
        undisturbed = run(Path(name, "whole"), tasks, "run", **options)
        folder, runtime = Path(name, "stopped"), ReuseOptions()
        done: set[tuple[str, int]] = set()
        for number, stop_after in enumerate([*stops, math.inf]):
            ran = run(
                folder, tasks, f"r{number}", runtime=runtime, stop_after=stop_after, **options
            )
            assert not done & ran.world.agent_runs.keys()
            done, runtime = finished(ran), REUSE
    assert undisturbed.outcome is not None
    assert ran.outcome is not None
    assert ran.outcome.report == undisturbed.outcome.report


def test_attempts_are_counted_and_not_their_executions(tmp_path: Path) -> None:
    tries = (Script(agent="fatal"), Script(agent="fatal"), Script())
    run(tmp_path, {"a": scripted("a", Script())}, "first")
    tasks = {"a": scripted("a", Script()), "b": scripted("b", *tries)}
    second = run(tmp_path, tasks, "second", runtime=REUSE, max_retries=3)
    assert second.world.agent_runs == {("b", 1): 3}
    assert second.counts == {"reused": 1, "resumed": 0, "executed": 1}


def test_a_newer_run_with_less_in_it_is_taken_and_the_older_one_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tasks = {name: scripted(name, Script()) for name in "abc"}
    run(tmp_path, tasks, "full")
    run(tmp_path, {"a": tasks["a"]}, "small")
    with caplog.at_level("INFO"):
        third = run(tmp_path, tasks, "third", runtime=REUSE)
    assert third.counts == {"reused": 1, "resumed": 0, "executed": 2}
    assert "older runs full; --reuse ID names one" in caplog.text
