"""A disk that fails costs what could not be written, says so in one line, and leaves no halves."""

import json
import logging
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest

from agentcompass.engine.request import Outcome
from agentcompass.engine.tree import run_job
from agentcompass.errors import AgentCompassError
from agentcompass.records.convert import unstructure
from agentcompass.records.request import AttemptPlan
from agentcompass.store.layout import RunLayout, task_folder
from agentcompass.store.location import run_location
from agentcompass.store.reading import StoredTask, read_run_info, read_tasks
from agentcompass.store.reuse_source import find_reuse_source
from tests import virtual
from tests.fakes import MemoryStore, Script, Scripted, World, make_job
from tests.store.disks import FaultyDisk
from tests.summarizing.runs import summarized
from tests.whole_runs import on_disk

FOREVER = 10**9


@attrs.frozen(kw_only=True)
class Ended:
    """How a run on a failing disk ended: by an outcome, or with an error of ours."""

    folder: Path
    disk: FaultyDisk
    outcome: Outcome | None = None
    error: AgentCompassError | None = None

    @property
    def directory(self) -> Path | None:
        """The last run directory."""
        return max(self.folder.glob("*/*/"), default=None)

    def faults(self) -> list[str]:
        """What ended the run itself, or kept its end from being written."""
        told = str(self.error) if self.outcome is None else self.outcome.error or ""
        return [] if told.startswith("Final FATAL issues") or not told else [told]

    def tasks(self) -> dict[str, StoredTask]:
        """What was kept of each task; none may be unreadable."""
        found = list(read_tasks(self.directory)) if self.directory else []
        assert all(isinstance(task, StoredTask) for task in found), found
        return {task.task_id: task for task in found if isinstance(task, StoredTask)}

    def measured(self) -> set[str]:
        """The tasks that are published without a FATAL issue."""
        return {
            name
            for name, task in self.tasks().items()
            if task.is_published and task.state != "fatal"
        }


def world(tasks: int = 3) -> World:
    """Tasks that are scored apart from their agent; one of them is retried, one again scored."""
    bad = Script(run_seconds=0, agent="fatal")
    scripts = {"t1": {1: [bad, Script()]}, "t2": {1: [Script(scoring="error"), Script()]}}
    names = [f"t{number}" for number in range(tasks)]
    return World({name: Scripted(task_id=name, scripts=scripts.get(name, {})) for name in names})


def run(folder: Path, disk: FaultyDisk, *, k: int = 1, tasks: int = 3) -> Ended:
    return run_job_in(folder, world(tasks), disk, k=k)


def run_job_in(
    folder: Path, world: World, disk: FaultyDisk, *, k: int = 1, reuses: bool = False, **job: Any
) -> Ended:
    """Run with the run directory in `folder`, on `disk`."""

    async def main() -> Outcome:
        made = make_job(
            world,
            MemoryStore(),
            slots=2,
            attempts=AttemptPlan(k=k),
            max_retries=1,
            retry_pattern_list=["no verdict"],
            **job,
        )
        if reuses:
            location = run_location(folder, made.request)
            made = attrs.evolve(
                made, find_source=partial(find_reuse_source, location, made.request)
            )
        return await run_job(on_disk(made, folder, disk=disk))

    try:
        return Ended(folder=folder, disk=disk, outcome=virtual.run(main))
    except AgentCompassError as error:
        return Ended(folder=folder, disk=disk, error=error)


def check_nothing_is_half_written(ended: Ended) -> None:
    for path in ended.folder.rglob("*"):
        assert not path.name.endswith(".tmp")
        if path.suffix == ".json":
            json.loads(path.read_bytes())
    ended.tasks()


def check_it_is_said_in_one_line(ended: Ended) -> None:
    for fault in ended.faults():
        assert len(fault.splitlines()) == 1
        assert "No space left on device" in fault
        assert str(ended.folder) in fault


def check_at_most_one_task_is_lost(ended: Ended) -> None:
    if ended.outcome is not None:
        lost = 3 - len(ended.measured())
        assert lost <= 1
        is_good = not lost and not ended.faults()
        assert ended.outcome.status == ("completed" if is_good else "failed")


def steps_of_a_run(folder: Path, k: int) -> int:
    return len(run(folder, FaultyDisk(), k=k).disk.steps)


@pytest.mark.parametrize(("k", "every"), [(1, 2), (2, 9)])
def test_one_fault_anywhere_costs_at_most_one_task(tmp_path: Path, k: int, every: int) -> None:
    """Fails when a fault of one file reaches the nursery, or takes what is already there."""
    for step in range(1, steps_of_a_run(tmp_path / "whole", k) + 1, every):
        ended = run(tmp_path / str(step), FaultyDisk(fails_at=step), k=k)
        check_nothing_is_half_written(ended)
        check_it_is_said_in_one_line(ended)
        check_at_most_one_task_is_lost(ended)


@pytest.mark.parametrize(("k", "every"), [(1, 5), (2, 13)])
def test_a_disk_that_stays_full_ends_in_one_line_and_keeps_what_was_there(
    tmp_path: Path, k: int, every: int
) -> None:
    for step in range(1, steps_of_a_run(tmp_path / "whole", k) + 1, every):
        ended = run(tmp_path / str(step), FaultyDisk(fails_at=step, times=FOREVER), k=k)
        check_nothing_is_half_written(ended)
        check_it_is_said_in_one_line(ended)
        if ended.outcome is not None and ended.outcome.status == "completed":
            # all that was left to write was progress
            assert len(ended.tasks()) == 3


@pytest.mark.parametrize("where", ["progress.jsonl", "progress.json"])
def test_progress_that_cannot_be_written_is_said_once_and_the_run_goes_on(
    tmp_path: Path, where: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="agentcompass")
    ended = run(tmp_path, FaultyDisk(fails_at=1, times=FOREVER, where=f"{where}"), tasks=9)
    warnings = [each.getMessage() for each in caplog.records if "progress" in each.name]

    assert ended.outcome is not None
    assert ended.outcome.status == "completed"
    assert len(ended.tasks()) == 9
    assert [text for text in warnings if "the run goes on" in text] == warnings[:1]
    assert where in warnings[0]
    assert "No space left on device" in warnings[0]


@pytest.mark.parametrize("k", [1, 2])
def test_a_result_that_cannot_be_written_fails_its_task_alone(tmp_path: Path, k: int) -> None:
    folder = task_folder("t3")
    disk = FaultyDisk(fails_at=1, times=FOREVER, where=f"{folder}/attempt-1/.result.json")
    ended = run(tmp_path, disk, k=k, tasks=5)

    assert ended.outcome is not None
    assert ended.outcome.status == "failed"
    assert ended.measured() == {"t0", "t1", "t2", "t4"}
    [series] = [each for each in ended.outcome.report.series if each.reducer != "pass"]
    assert (series.counts.total, series.counts.invalidated) == (5, 1)
    assert ended.directory is not None
    assert read_run_info(ended.directory).status == "failed"
    log = RunLayout(ended.directory).log.read_text()
    assert "task t3 could not be saved: " in log
    assert f"{folder}/attempt-1/result.json: No space left on device" in log
    afterwards = summarized(ended.directory)["metrics"]
    assert afterwards == unstructure(ended.outcome.report)


def test_a_run_out_of_time_ends_as_such_though_it_cannot_note_what_it_interrupts(
    tmp_path: Path,
) -> None:
    """Fails when the fault of the note takes the place of the cancellation."""
    scripts = {"slow": {1: [Script(run_seconds=100)]}}
    names = ("quick", "slow")
    slow = World({name: Scripted(task_id=name, scripts=scripts.get(name, {})) for name in names})
    disk = FaultyDisk(fails_at=1, times=FOREVER, where=task_folder("slow"))

    outcome = run_job_in(tmp_path, slow, disk, timeout_seconds=10.0).outcome

    assert outcome is not None
    assert outcome.status == "timed_out"
    assert [task.task_id for task in read_tasks(outcome.directory)] == ["quick"]
    log = RunLayout(outcome.directory).log.read_text()
    assert "task slow attempt 1: its interruption is not on record: " in log


@pytest.mark.parametrize(("k", "every"), [(1, 3), (2, 11)])
def test_one_fault_in_a_run_that_reuses_another_costs_one_task_or_ends_in_one_line(
    tmp_path: Path, k: int, every: int
) -> None:
    """Fails when what cannot be copied is a traceback, or is counted all the same."""
    steps = len(reuse(tmp_path / "whole", FaultyDisk(), k=k).disk.steps)
    for step in range(1, steps + 1, every):
        ended = reuse(tmp_path / str(step), FaultyDisk(fails_at=step), k=k)
        check_nothing_is_half_written(ended)
        check_it_is_said_in_one_line(ended)
        check_at_most_one_task_is_lost(ended)


def reuse(folder: Path, disk: FaultyDisk, *, k: int) -> Ended:
    """Run on a good disk until time is out, then go on with that on `disk`."""
    first = run_job_in(folder, world(), FaultyDisk(), k=k, timeout_seconds=2.2)
    assert first.outcome is not None
    assert first.outcome.status == "timed_out"
    return run_job_in(folder, world(), disk, k=k, reuses=True)
