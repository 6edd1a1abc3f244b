"""A request that is cut off, on the real store: what had finished counts, the rest is told."""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import trio

from agentcompass.engine.tree import run_job
from agentcompass.progress.event_file import read_events
from agentcompass.records.task import TaskSpec
from agentcompass.store.reading import read_run_info, read_tasks
from tests.fakes import MemoryStore, Script, Scripted, ScriptedBenchmark, World, make_job
from tests.virtual import on_virtual_time
from tests.whole_runs import on_disk, read


def world_of(scripts: Mapping[str, Script]) -> World:
    return World({name: Scripted(task_id=name, scripts={1: [s]}) for name, s in scripts.items()})


def directory_in(folder: Path) -> Path:
    [directory] = folder.glob("*/*")
    return directory


@on_virtual_time
async def test_a_cancelled_run_has_totals_and_the_results_so_far(tmp_path: Path) -> None:
    """cases.md 21."""
    world = world_of({f"t{n}": Script(run_seconds=1 if n < 3 else 99) for n in range(5)})
    with trio.move_on_after(10) as scope:
        await run_job(on_disk(make_job(world, MemoryStore()), tmp_path))
    directory = directory_in(tmp_path)
    progress = read(directory / "progress.json")
    [series] = read(directory / "metrics.json")["series"]
    info = read_run_info(directory)

    assert scope.cancelled_caught
    assert (info.status, info.task_ids) == ("cancelled", tuple(f"t{n}" for n in range(5)))
    assert (progress["status"], progress["total_tasks"]) == ("cancelled", 5)
    assert (progress["finished_tasks"], progress["pending_tasks"]) == (3, 2)
    assert (series["counts"]["total"], series["counts"]["evaluated"]) == (5, 3)
    assert list(read_events(directory / "progress.jsonl"))[-1].event == "run_finished"
    published = {task.task_id for task in read_tasks(directory) if task.is_published}
    assert published == {"t0", "t1", "t2"}


@on_virtual_time
async def test_an_attempt_cut_off_at_work_or_before_its_scoring_leaves_word(
    tmp_path: Path,
) -> None:
    """cases.md 20: one runs, another is inside the closing of its environment."""
    world = world_of(
        {"runs": Script(run_seconds=99), "closes": Script(run_seconds=1, close_seconds=20)}
    )
    with trio.move_on_after(10):
        await run_job(on_disk(make_job(world, MemoryStore()), tmp_path))
    told = {
        read(path.parent.parent / "task.json")["task_id"]: read(path)["scheduler"]["error"]
        for path in directory_in(tmp_path).glob("details/running/*/*/checkpoint.json")
    }

    assert trio.current_time() == 21
    assert world.opened == world.closed == 2
    assert told["runs"] == "interrupted in phase run_harness"
    assert told["closes"].startswith("interrupted in phase ")


async def test_a_data_set_that_blocks_is_left_behind_at_the_deadline(tmp_path: Path) -> None:
    """cases.md 4: its thread still counts, and what it brings too late is dropped."""
    release, loaded = threading.Event(), threading.Event()

    class Blocking(ScriptedBenchmark):
        def load_tasks(self, data_dir: Path) -> Sequence[TaskSpec]:
            release.wait(30)
            loaded.set()
            return super().load_tasks(data_dir)

    world = world_of({"t": Script()})
    limiter = trio.to_thread.current_default_thread_limiter()
    held = limiter.borrowed_tokens
    job = make_job(world, MemoryStore(), benchmark=Blocking(world), timeout_seconds=0.3)
    try:
        outcome = await run_job(on_disk(job, tmp_path))

        assert not loaded.is_set()
        assert limiter.borrowed_tokens == held + 1
    finally:
        release.set()
    assert await trio.to_thread.run_sync(loaded.wait, 30)
    with trio.fail_after(30):
        while limiter.borrowed_tokens > held:  # noqa: ASYNC110  # a limiter tells nobody
            await trio.sleep(0.01)

    assert (outcome.status, outcome.total_tasks, world.opened) == ("timed_out", 0, 0)
