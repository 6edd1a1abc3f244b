"""A run directory from its reservation to its last words, as the engine uses it."""

import json
import logging
import shutil
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.deadlines import CleanupClock
from agentcompass.engine.job import Store
from agentcompass.errors import StoreError, UsageError
from agentcompass.metrics.observations import AttemptObservation, TaskObservations
from agentcompass.metrics.report import build_report
from agentcompass.progress.event_file import read_events
from agentcompass.records.metrics import MetricReport, binary_contract
from agentcompass.records.progress import ProgressEvent
from agentcompass.records.request import AttemptPlan, OutputOptions
from agentcompass.store.atomic import read_record
from agentcompass.store.location import run_location
from agentcompass.store.reading import StoredTask, read_run_info, read_tasks
from agentcompass.store.redact import MASK, Redactor
from agentcompass.store.run_store import RunStore
from agentcompass.store.runs import open_run
from tests import virtual
from tests.progress.streams import event
from tests.store.disks import FaultyDisk, QuickDisk
from tests.store.examples import HEADER, HEADER_3, KEY, REQUEST, TASK_ID, checkpoint, result, retry

PLAN = {"environment": {"id": "host_process", "setup": {}}, "applied_recipes": [], "note": "é"}
log = logging.getLogger("agentcompass.tests")


def opened(
    folder: Path, *, run_id: str | None = None, grace_seconds: float = 30.0, **options: Any
) -> AbstractAsyncContextManager[RunStore]:
    request = attrs.evolve(REQUEST, output=OutputOptions(run_name="nightly", run_id=run_id))
    return open_run(
        run_location(folder, request),
        request=request,
        redactor=Redactor({KEY}),
        cleanup=CleanupClock(grace_seconds),
        **{"disk": QuickDisk(), **options},
    )


def report() -> MetricReport:
    observed = {1: AttemptObservation(metrics={"correct": True})}
    task = TaskObservations(task_id="t", attempts=observed)
    return build_report(
        [task], binary_contract(), k=1, strategy="avg", aggregation="micro_weighted"
    )


def stored(folder: Path) -> list[StoredTask]:
    tasks = list(read_tasks(folder))
    assert all(isinstance(task, StoredTask) for task in tasks), tasks
    return tasks  # type: ignore[return-value]


def test_the_real_store_is_a_store_of_the_engine() -> None:
    wanted = {name for name in vars(Store) if not name.startswith("_")} | {"directory", "run_id"}

    assert not {name for name in wanted if not hasattr(RunStore, name)}


def test_a_whole_run_leaves_the_directory_of_the_format(tmp_path: Path) -> None:
    async def main() -> Path:
        async with opened(tmp_path, run_id="r 1") as store:
            assert store.run_id == "r_1"
            assert store.directory == tmp_path / "nightly" / "org_m_toy_none" / "r_1"
            assert read_run_info(store.directory).status is None
            store.emit(event("run_started"))
            await store.update_run_info(task_ids=[TASK_ID])
            store.emit(event("tasks_loaded", payload={"total_tasks": 1}))
            store.record_plan(TASK_ID, 1, PLAN)
            await store.flush()
            await store.save_task(HEADER, {1: result()}, "")
            await store.write_metrics(report(), "# é\n")
            await store.finish("completed", None)
            store.emit(event("run_finished", status="completed"))
        return store.directory

    folder = virtual.run(main)
    assert sorted(path.name for path in folder.iterdir()) == [
        *("details", "metrics.json", "params.json", "progress.json", "progress.jsonl"),
        *("run.log", "run_info.json", "summary.md"),
    ]
    info = read_run_info(folder)
    assert (info.run_id, info.status, info.error) == ("r_1", "completed", None)
    assert info.task_ids == (TASK_ID,)
    assert info.resolved_execution_plans == {TASK_ID: {"attempts": {"1": PLAN}}}
    assert info.metric_artifacts is not None
    assert info.metric_artifacts.report == {
        "k": 1,
        "strategy": "avg",
        "aggregation": "micro_weighted",
    }
    assert (folder / "summary.md").read_text() == "# é\n"
    assert read_record(folder / "progress.json")["status"] == "completed"
    assert [task.is_published for task in stored(folder)] == [True]


def test_the_request_is_written_without_secrets_private_keys_and_what_is_not_set(
    tmp_path: Path,
) -> None:
    async def main() -> Path:
        async with opened(tmp_path) as store:
            pass
        return store.directory

    folder = virtual.run(main)
    text = (folder / "run_info.json").read_text()
    record = json.loads(text)
    assert KEY not in text
    assert text == json.dumps(record, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    assert record["request"]["benchmark"] == {
        "id": "toy",
        "params": {"file": "a.jsonl", "judge_api_key": MASK},
    }
    assert record["request"]["model"] == {
        "id": "org/m",
        "base_url": "http://127.0.0.1:1/v1",
        "api_key": MASK,
        "api_protocol": "",
        "params": {"n": 1},
    }
    assert record["request"]["environment"] == {"id": "host_process"}
    assert record["request"]["output"] == {"run_name": "nightly", "run_id": folder.name}
    assert record["request"]["execution"]["attempts"] == {"k": 3, "strategy": "pass"}
    assert record["started_at"][10] == "T"
    assert record["started_at"][19] in "+-"


def test_params_hold_what_metrics_need_and_no_more(tmp_path: Path) -> None:
    async def main() -> Path:
        async with opened(tmp_path) as store:
            assert not store.layout.params.exists()
            await store.save_task(HEADER, {1: result()}, "")
            assert store.layout.params.exists()
        return store.directory

    folder = virtual.run(main)
    assert read_record(folder / "params.json") == {
        "benchmark": {"id": "toy", "params": {"file": "a.jsonl", "judge_api_key": MASK}},
        "model": {
            "id": "org/m",
            "api_key": MASK,
            "base_url": "http://127.0.0.1:1/v1",
            "params": {"n": 1},
        },
        "execution": {
            "attempts": {"k": 3, "strategy": "pass"},
            "artifact_limits": {"max_mb": 16384, "max_files": 100_000, "timeout_seconds": 600.0},
            "timeout_multiplier": 1.0,
            "run_timer_compensation_seconds": 120.0,
            "runresult_collect_timeout_seconds": 60.0,
        },
        "output": {"run_id": folder.name, "run_name": "nightly"},
    }


@pytest.mark.parametrize("tasks", [1, 4])
def test_attempts_that_are_saved_at_once_are_all_in_the_index(tmp_path: Path, tasks: int) -> None:
    """Fails where two changes of a task are made together: the index then lacks an attempt."""

    async def main() -> Path:
        async with opened(tmp_path) as store, trio.open_nursery() as nursery:
            for task in range(tasks):
                header = attrs.evolve(HEADER_3, task_id=str(task))
                for number in (1, 2, 3):
                    nursery.start_soon(store.save_attempt, header, number, result())
        return store.directory

    found = {task.task_id: task for task in stored(virtual.run(main))}
    assert all(sorted(found[str(task)].attempts) == [1, 2, 3] for task in range(tasks))


def test_an_attempt_that_is_executed_again_leaves_its_evidence(tmp_path: Path) -> None:
    async def main() -> Path:
        async with opened(tmp_path) as store:
            artifacts = store.artifacts_dir(TASK_ID, 1)
            assert artifacts == store.attempt_dir(TASK_ID, 1) / "artifacts"
            artifacts.mkdir(parents=True)
            await store.save_evaluation_checkpoint(HEADER, checkpoint())
            path = await store.save_retry(retry())
            assert (store.directory / path).is_file()
            await store.set_aside(TASK_ID, 1)
            assert not artifacts.exists()
            await store.save_interrupted(HEADER, 1, phase="evaluate", retries=1)
        return store.directory

    (task,) = stored(virtual.run(main))
    assert task.attempts == {1: None}


@given(st.integers(0, 150))
def test_the_bytes_of_run_info_stay_in_proportion_to_the_plans(
    tmp_path_factory: pytest.TempPathFactory, count: int
) -> None:
    """Case 82. Fails when run_info.json is written for every plan."""
    folder = tmp_path_factory.mktemp("run")
    written: list[int] = []

    class Counting(QuickDisk):
        def write(self, file: int, data: bytes) -> None:
            super().write(file, data)
            if b"agentcompass.run_info" in data[:9000] or b"resolved_execution_plans" in data:
                written.append(len(data))

    async def main() -> Path:
        async with opened(folder, disk=Counting()) as store:
            for number in range(count):
                store.record_plan(f"t{number}", 1, PLAN)
                await trio.sleep(0.1)
            await store.finish("completed", None)
        return store.directory

    info = read_run_info(virtual.run(main))
    assert len(info.resolved_execution_plans or {}) == count
    assert sum(written) <= 4 * written[-1] + len(written) * 2000
    assert len(written) <= 3 + count.bit_length()


@pytest.mark.parametrize("count", [1, 2, 9, 100])
def test_of_known_tasks_the_plans_are_written_half_way_and_at_the_end(
    tmp_path: Path, count: int
) -> None:
    """So that a plan costs as much in a long run as in a short one."""
    written: list[int] = []

    async def main() -> None:
        names = [f"t{number}" for number in range(count)]
        async with opened(tmp_path, disk=QuickDisk()) as store:
            await store.update_run_info(task_ids=names)
            for name in names:
                store.record_plan(name, 1, PLAN)
                await trio.sleep(0.1)
                info = read_run_info(store.directory)
                written.append(len(info.resolved_execution_plans or {}))

    virtual.run(main)
    half = count // 2
    assert written == [0] * half + [half + 1] * (count - half)


def test_plans_are_in_run_info_before_the_run_is_over(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            store.record_plan("a", 1, PLAN)
            store.record_plan("a", 2, {**PLAN, "key": KEY})
            await trio.sleep(1)
            plans = read_run_info(store.directory).resolved_execution_plans
            assert plans == {"a": {"attempts": {"1": PLAN, "2": {**PLAN, "key": MASK}}}}

    virtual.run(main)


def test_run_info_is_written_as_json_would_be(tmp_path: Path) -> None:
    """Fails when the plans, which are put in as text, are indented, sorted or escaped otherwise."""

    async def main() -> Path:
        async with opened(tmp_path) as store:
            for task_id in ('quote " and \\', "é", "\ud83d", "a\nb", "z", "10", "9"):
                for attempt in (1, 2):
                    store.record_plan(task_id, attempt, {**PLAN, "list": [1, {"b": 2, "a": []}]})
            await store.finish("completed", None)
        return store.directory

    data = (virtual.run(main) / "run_info.json").read_bytes()
    again = json.dumps(json.loads(data), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    assert data == again.encode("utf-8", "backslashreplace")


class Broken(Exception):
    pass


@pytest.mark.parametrize("error", [Broken("body"), ExceptionGroup("group", [Broken("inner")])])
def test_what_the_body_raises_leaves_in_no_group_of_ours(tmp_path: Path, error: Exception) -> None:
    async def main() -> None:
        async with opened(tmp_path):
            await trio.sleep(1)
            raise error

    with pytest.raises(type(error)) as caught:
        virtual.run(main)
    if isinstance(caught.value, ExceptionGroup):
        assert str(caught.value) == "group (1 sub-exception)"
        assert caught.value.exceptions == error.exceptions  # type: ignore[attr-defined]
    else:
        assert caught.value is error
    assert caught.value.__context__ is None


def test_a_cancelled_run_says_its_last_words(tmp_path: Path) -> None:
    """Fails when the journal is not flushed in a shielded scope with a bound of its own."""
    found: list[Path] = []

    async def main() -> None:
        with trio.move_on_after(5) as scope:
            async with opened(tmp_path, grace_seconds=0.0) as store:
                found.append(store.directory)
                store.emit(event("run_started"))
                try:
                    await trio.sleep_forever()
                finally:
                    store.emit(event("run_finished", status="cancelled"))
        assert scope.cancelled_caught
        assert trio.current_time() == 5

    virtual.run(main)
    assert [each.event for each in read_events(found[0] / "progress.jsonl")] == [
        *("run_started", "run_finished")
    ]
    assert read_record(found[0] / "progress.json")["status"] == "cancelled"


@given(
    st.lists(st.sampled_from(["save", "flush", "sleep", "info"]), max_size=8), st.integers(0, 40)
)
def test_cancelled_anywhere_nothing_is_half_written(
    tmp_path_factory: pytest.TempPathFactory, actions: list[str], moment: int
) -> None:
    """Property 10 for the store. Fails when file work is abandoned in its thread."""
    folder = tmp_path_factory.mktemp("run")
    saved: list[str] = []
    emitted: list[ProgressEvent] = []

    async def main() -> Path:
        with trio.CancelScope() as scope:
            async with opened(folder) as store:
                for number, action in enumerate(actions):
                    if number * 5 == moment:
                        scope.cancel()
                    emitted.append(event("phase_changed", task_id=str(number)))
                    store.emit(emitted[-1])
                    if action == "save":
                        header = attrs.evolve(HEADER, task_id=str(number))
                        await store.save_task(header, {1: result()}, "")
                        saved.append(str(number))
                    elif action == "flush":
                        await store.flush()
                    elif action == "info":
                        await store.update_run_info(task_ids=[str(number)])
                    else:
                        await trio.sleep(0.01)
        return next(folder.glob("*/*/*"))

    run = virtual.run(main)
    assert sorted(task.task_id for task in stored(run)) == sorted(saved)
    assert all(task.is_published for task in stored(run))
    assert not list(run.rglob("*.tmp"))
    assert (list(read_events(run / "progress.jsonl")) if emitted else []) == emitted
    read_run_info(run)


@pytest.mark.parametrize("step", range(1, 13))
def test_a_save_that_fails_names_the_file_and_the_run_goes_on(tmp_path: Path, step: int) -> None:
    """Case 25, the store's part: an earlier good record stays, other tasks are saved."""
    disk = FaultyDisk(step, where="details")

    async def main() -> Path:
        async with opened(tmp_path, disk=disk) as store:
            with pytest.raises(StoreError, match=r"details/.*: No space left on device"):
                await store.save_task(attrs.evolve(HEADER, task_id="first"), {1: result()}, "")
            await store.save_task(HEADER, {1: result()}, "")
            await store.finish("failed", f"could not save with {KEY}")
        return store.directory

    folder = virtual.run(main)
    assert TASK_ID in [task.task_id for task in stored(folder) if task.is_published]
    assert read_run_info(folder).error == f"could not save with {MASK}"


def test_a_run_whose_plans_cannot_be_written_yet_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    disk = FaultyDisk(where="run_info.json")

    async def main() -> Path:
        async with opened(tmp_path, disk=disk) as store:
            disk.fails_at = len(disk.steps) + 1
            store.record_plan("a", 1, PLAN)
            await trio.sleep(1)
            await store.finish("completed", None)
        return store.directory

    assert read_run_info(virtual.run(main)).resolved_execution_plans
    assert "the plans so far are not in run_info.json" in caplog.text


def test_a_final_state_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    disk = FaultyDisk(where="run_info.json")

    async def main() -> None:
        async with opened(tmp_path, disk=disk) as store:
            disk.fails_at = len(disk.steps) + 1
            await store.finish("completed", None)

    with pytest.raises(StoreError, match=r"run_info\.json: No space left"):
        virtual.run(main)


def test_the_log_of_a_run_is_its_own_and_a_named_file_has_it_too(tmp_path: Path) -> None:
    copy = tmp_path / "logs" / "copy.log"

    async def main() -> Path:
        async with opened(tmp_path, log_file=str(copy)) as store:
            log.debug("inside, key %s", KEY)
        log.warning("outside")
        return store.directory

    text = (virtual.run(main) / "run.log").read_text()
    assert f"inside, key {MASK}" in text
    assert "outside" not in text
    assert copy.read_text() == text


def test_a_log_file_that_cannot_be_opened_leaves_no_run_directory(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path / "results", log_file=str(tmp_path)):
            pass

    with pytest.raises(UsageError, match=r"log_file: .* cannot be opened: Is a directory"):
        virtual.run(main)
    assert not (tmp_path / "results").exists()


def test_a_run_on_the_real_disk_is_written_as_well(tmp_path: Path) -> None:
    async def main() -> Path:
        async with opened(tmp_path, disk=None) as store:
            store.emit(event("run_started"))
            await store.save_task(HEADER, {1: result()}, "")
        return store.directory

    assert [task.is_published for task in stored(virtual.run(main))] == [True]


def test_two_runs_that_start_together_do_not_share_a_directory(tmp_path: Path) -> None:
    """Case 27."""

    async def main() -> set[Path]:
        found = set()

        async def one() -> None:
            async with opened(tmp_path) as store:
                store.emit(event("run_started"))
                found.add(store.directory)

        async with trio.open_nursery() as nursery:
            for _ in range(4):
                nursery.start_soon(one)
        return found

    found = virtual.run(main)
    assert len(found) == 4
    assert all(len(list(read_events(folder / "progress.jsonl"))) == 1 for folder in found)


def test_a_named_run_that_exists_is_refused_and_left_alone(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path, run_id="r1"):
            pass

    virtual.run(main)
    (folder,) = tmp_path.glob("*/*/r1")
    before = (folder / "run_info.json").read_bytes()

    with pytest.raises(UsageError, match="already exists"):
        virtual.run(main)
    assert (folder / "run_info.json").read_bytes() == before


def test_the_snapshot_is_up_to_date_at_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            store.emit(event("run_started"))
            assert store.snapshot.status == "running"
            assert store.snapshot.model == "org/m"

    virtual.run(main)


async def measure(folder: Path, tasks: int) -> int:
    """The bytes that a run of so many small tasks writes."""
    written = 0

    class Counting(QuickDisk):
        def write(self, file: int, data: bytes) -> None:
            nonlocal written
            written += len(data)
            super().write(file, data)

    async with opened(folder, disk=Counting()) as store:
        limiter = trio.CapacityLimiter(32)

        async def one(number: int) -> None:
            async with limiter:
                store.record_plan(str(number), 1, PLAN)
                for name in (
                    "task_started",
                    "attempt_started",
                    "attempt_finished",
                    "task_finished",
                ):
                    store.emit(event(name, task_id=str(number)))
                header = attrs.evolve(HEADER, task_id=str(number), attempt_plan=AttemptPlan())
                await store.save_task(header, {1: result()}, "")

        async with trio.open_nursery() as nursery:
            for number in range(tasks):
                nursery.start_soon(one, number)
        await store.finish("completed", None)
    return written


def test_the_bytes_of_a_task_do_not_grow_with_the_number_of_tasks(tmp_path: Path) -> None:
    """Case 82. Fails when anything is written whole for each task."""
    few, many = (trio.run(measure, tmp_path / str(count), count) for count in (50, 800))

    assert many / 800 <= 1.2 * few / 50


class CancellingDisk(QuickDisk):
    """Has the run cancelled as soon as its folder is claimed."""

    def __init__(self, scope: trio.CancelScope) -> None:
        self.scope = scope

    def claim_folder(self, path: Path) -> None:
        super().claim_folder(path)
        trio.from_thread.run_sync(self.scope.cancel)


async def test_who_is_cancelled_while_it_opens_can_still_write_how_it_ended(
    tmp_path: Path,
) -> None:
    """Fails when a run that is cancelled early leaves a folder of which nobody knows the end."""
    with trio.CancelScope() as scope:
        async with opened(tmp_path, disk=CancellingDisk(scope)) as store:
            try:
                await trio.lowlevel.checkpoint()
            finally:
                with trio.CancelScope(shield=True):
                    await store.finish("cancelled", None)

    assert scope.cancelled_caught
    info = read_run_info(store.directory)
    assert info.status == "cancelled"


@pytest.mark.parametrize("moved", [True, False], ids=["moved", "removed"])
def test_a_run_directory_that_is_moved_or_removed_meanwhile_is_not_made_anew(
    tmp_path: Path, moved: bool
) -> None:
    """Fails where a run seems complete whose first tasks are elsewhere, or nowhere."""

    async def main() -> Path:
        async with opened(tmp_path / "results") as store:
            await store.save_task(HEADER, {1: result()}, "")
            (tmp_path / "results").rename(tmp_path / "elsewhere")
            if not moved:
                shutil.rmtree(tmp_path / "elsewhere")
            fault = "was moved or removed while its run went on"
            with pytest.raises(StoreError, match=fault):
                await store.save_task(HEADER, {1: result()}, "")
            with pytest.raises(StoreError, match=fault):
                await store.write_metrics(report(), "")
            with pytest.raises(StoreError, match=fault):
                await store.finish("completed", None)
        return store.directory

    assert not virtual.run(main).exists()
