"""An evaluation inside a trio program: followed, steered, cancelled, and no guest that intrudes."""

import asyncio
import copy
import gc
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from agentcompass import (
    Evaluation,
    EventsDropped,
    ProgressEvent,
    RequestCancelled,
    RequestFailed,
    RequestTimeout,
    UsageError,
    async_launch,
    async_run_evaluation,
    open_evaluation,
)
from agentcompass.engine.job import Job
from agentcompass.engine.limits import provider_limiter
from agentcompass.environments._fake_ledger import Ledger
from agentcompass.progress.event_file import read_events
from tests.embedded import Counted, counted, rules, settings
from tests.virtual import on_virtual_time
from tests.whole_runs import read


@pytest.fixture(autouse=True)
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with counted(tmp_path / "plug-in", monkeypatch) as ledger:
        yield ledger


@on_virtual_time
async def test_its_events_and_its_result_are_those_of_the_run(tmp_path: Path) -> None:
    async with open_evaluation(**settings(tmp_path / "out")) as evaluation:
        told = [event async for event in evaluation.events()]
        result = await evaluation.result()
        assert evaluation.run_dir is not None
        written = list(read_events(evaluation.run_dir / "progress.jsonl"))

    assert told == written
    assert result["metadata"]["status"] == evaluation.progress.status == "completed"
    assert result["metrics"]["series"][0]["value"] == 1.0
    assert result["paths"]["output_dir"] == str(evaluation.run_dir)
    assert evaluation.has_ended
    assert evaluation.request.benchmark.id == "starter"


@on_virtual_time
async def test_it_can_be_asked_before_it_begins_and_after_it_ended(tmp_path: Path) -> None:
    async with open_evaluation(**settings(tmp_path / "out")) as evaluation:
        assert (evaluation.run_dir, evaluation.has_ended) == (None, False)
        assert evaluation.progress.status == "created"
        assert evaluation.progress.benchmark == "starter"
        await evaluation.result()
    again = [event.event async for event in evaluation.events()]
    evaluation.cancel()
    evaluation.pause()
    evaluation.resume()
    evaluation.set_task_concurrency(3)

    assert (again[0], again[-1]) == ("run_started", "run_finished")
    assert await evaluation.result() == await evaluation.result()


@on_virtual_time
async def test_a_reader_that_stops_reading_delays_nothing_and_knows_what_it_missed(
    tmp_path: Path,
) -> None:
    """Issue 7, shows 3; memory is bounded by what is held. Fails when a full buffer waits."""
    times = []
    for read_on in (True, False):
        began = trio.current_time()
        held = 1000 if read_on else 20
        given = settings(tmp_path / "out", tasks=4, k=5, event_buffer=held)
        async with open_evaluation(**given) as evaluation:
            stalled = evaluation.events()
            first = await anext(stalled)
            if read_on:
                assert len([None async for _ in stalled]) > 200
            result = await evaluation.result()
            times.append(trio.current_time() - began)
    assert evaluation.run_dir is not None
    written = list(read_events(evaluation.run_dir / "progress.jsonl"))
    gap, *rest = [event async for event in stalled]

    assert times[0] == times[1]
    assert result["metadata"]["status"] == "completed"
    assert isinstance(gap, EventsDropped)
    assert gap.dropped == stalled.dropped == len(written) - 21
    assert [first, *rest] == [written[0], *written[-20:]]
    assert len(evaluation._history._held) == 20
    assert gap.snapshot.total_tasks == 4


@on_virtual_time
async def test_a_cancelled_evaluation_is_cleaned_up_and_its_error_has_the_result(
    tmp_path: Path, ledger: Ledger
) -> None:
    given = settings(tmp_path / "out", tasks=3, task_concurrency=1)
    async with open_evaluation(**given) as evaluation:
        await trio.sleep(15)
        evaluation.cancel()
        with pytest.raises(RequestCancelled, match="what had finished is in ") as caught:
            await evaluation.result()
        assert not ledger.live

    result = caught.value.result
    assert (result["metadata"]["status"], result["metadata"]["total_tasks"]) == ("cancelled", 3)
    assert result["metrics"]["series"][0]["counts"]["evaluated"] == 1
    assert read(Path(result["paths"]["run_info"]))["status"] == "cancelled"
    assert [event.event async for event in evaluation.events()][-1] == "run_finished"


@on_virtual_time
async def test_a_body_that_is_left_early_ends_the_evaluation(
    tmp_path: Path, ledger: Ledger
) -> None:
    async with open_evaluation(**settings(tmp_path / "out")) as evaluation:
        await trio.sleep(5)

    assert trio.current_time() == 5
    assert (len(ledger.opened), ledger.live) == (2, [])
    with pytest.raises(RequestCancelled):
        await evaluation.result()


@on_virtual_time
async def test_who_cancels_what_has_completed_gets_its_result(tmp_path: Path) -> None:
    """Fails when a cancellation while the last files are written hides how it ended."""
    async with open_evaluation(**settings(tmp_path / "out")) as evaluation:
        async for event in evaluation.events():
            if event.event == "summary_started":
                evaluation.cancel()
        result = await evaluation.result()

    assert result["metadata"]["status"] == evaluation.progress.status == "completed"


@on_virtual_time
async def test_who_cancels_what_has_failed_is_told_that_it_failed(tmp_path: Path) -> None:
    given = settings(tmp_path / "out", environment_params={"fails": {"open": "gone"}})
    async with open_evaluation(**given) as evaluation:
        async for event in evaluation.events():
            if event.event == "summary_started":
                evaluation.cancel()
        with pytest.raises(RequestFailed, match="it had failed when it was cancelled") as caught:
            await evaluation.result()

    assert caught.value.result["metadata"]["status"] == evaluation.progress.status == "failed"


@on_virtual_time
async def test_a_thread_cancels_it_through_trio(tmp_path: Path) -> None:
    async with open_evaluation(**settings(tmp_path / "out")) as evaluation:
        await trio.sleep(5)
        await trio.to_thread.run_sync(lambda: trio.from_thread.run_sync(evaluation.cancel))
        with pytest.raises(RequestCancelled):
            await evaluation.result()


@on_virtual_time
async def test_what_one_caller_does_with_its_result_no_other_one_sees(tmp_path: Path) -> None:
    async with open_evaluation(**settings(tmp_path / "out")) as evaluation:
        result = await evaluation.result()
        whole = copy.deepcopy(result)
        result["paths"].clear()
        result.clear()

        assert await evaluation.result() == whole


@on_virtual_time
async def test_what_one_caller_does_with_its_error_no_other_one_sees(tmp_path: Path) -> None:
    """Fails when one exception is raised to all: each would replace the traceback of the others."""
    whose: list[tuple[str, bool]] = []

    async def handle(evaluation: Evaluation, seconds: float) -> None:
        try:
            await evaluation.result()
        except RequestCancelled as error:
            before = error.__traceback__
            await trio.sleep(seconds)
            whose.append((error.result["metadata"].pop("status"), error.__traceback__ is before))

    async with open_evaluation(**settings(tmp_path / "out")) as evaluation:
        await trio.sleep(5)
        evaluation.cancel()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(handle, evaluation, 1)
            nursery.start_soon(handle, evaluation, 2)
        await handle(evaluation, 0)

    assert whose == [("cancelled", True)] * 3


def wipe(event: ProgressEvent | EventsDropped) -> None:
    if isinstance(event, ProgressEvent):
        event.payload.clear()  # type: ignore[attr-defined]


async def wipe_what_is_read(given: dict[str, Any]) -> None:
    async with open_evaluation(**given) as evaluation:
        async for event in evaluation.events():
            wipe(event)


async def wipe_what_is_told(given: dict[str, Any]) -> None:
    await async_run_evaluation(**given, progress="none", on_progress=wipe)


@pytest.mark.parametrize("run", [wipe_what_is_read, wipe_what_is_told])
@on_virtual_time
async def test_what_a_program_does_to_events_reaches_no_file(
    tmp_path: Path, run: Callable[[dict[str, Any]], Awaitable[None]]
) -> None:
    """Fails when the payload that programs get is the one that is written a moment later."""
    await run(settings(tmp_path / "out"))

    [path] = (tmp_path / "out").rglob("progress.jsonl")
    found = [event for event in read_events(path) if event.event == "execution_plan_resolved"]
    assert len(found) == 2
    assert all(event.payload for event in found)


@on_virtual_time
async def test_two_readers_of_one_stream_share_its_events(tmp_path: Path) -> None:
    found: list[object] = []

    async def read_from(stream: AsyncIterator[object]) -> None:
        found.extend([event async for event in stream])

    async with open_evaluation(**settings(tmp_path / "out")) as evaluation:
        stream = evaluation.events()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(read_from, stream)
            nursery.start_soon(read_from, stream)
        whole = [event async for event in evaluation.events()]

    assert len(found) == len(whole)
    assert all(event in found for event in whole)
    assert [event async for event in stream] == []


async def leave_by(error: Exception, given: dict[str, Any]) -> None:
    async with open_evaluation(**given):
        await trio.sleep(5)
        raise error


@on_virtual_time
async def test_what_the_body_raises_leaves_as_it_is(tmp_path: Path, ledger: Ledger) -> None:
    with pytest.raises(KeyError, match="mine"):
        await leave_by(KeyError("mine"), settings(tmp_path / "out"))

    assert ledger.live == []


def test_a_group_that_the_body_raises_stays_one_though_trio_is_not_strict(tmp_path: Path) -> None:
    given = settings(tmp_path / "out", seconds=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ExceptionGroup, match="mine"):
            trio.run(
                leave_by,
                ExceptionGroup("mine", [KeyError("a")]),
                given,
                strict_exception_groups=False,
                clock=MockClock(autojump_threshold=0),
            )


@on_virtual_time
async def test_a_scope_around_it_is_honoured_within_the_bound_of_the_cleanup(
    tmp_path: Path, ledger: Ledger
) -> None:
    """Fails when the body is left before the sessions are closed, or not before the bound."""
    given = settings(
        tmp_path / "out",
        environment_params={"exec": rules(99), "hangs": ["close"]},
        execution_params={"cleanup_grace_seconds": 7},
    )
    with trio.move_on_after(5) as scope:
        async with open_evaluation(**given) as evaluation:
            await evaluation.result()

    assert scope.cancelled_caught
    assert trio.current_time() == 5 + 7
    assert evaluation.progress.status == "cancelled"
    with pytest.raises(RequestCancelled):
        await evaluation.result()


@on_virtual_time
async def test_whoever_waits_for_it_elsewhere_is_told_how_it_ended(tmp_path: Path) -> None:
    found: list[str] = []

    async def wait(evaluation: Evaluation) -> None:
        try:
            await evaluation.result()
        except RequestCancelled as error:
            found.append(str(error))

    async with trio.open_nursery() as nursery:
        async with open_evaluation(**settings(tmp_path / "out")) as evaluation:
            nursery.start_soon(wait, evaluation)
            nursery.start_soon(wait, evaluation)
            await trio.sleep(5)

    assert len(found) == 2


@on_virtual_time
async def test_a_bug_leaves_as_it_is_and_whoever_waits_elsewhere_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_given: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("agentcompass.engine.request.selection_record", broken)
    opened: list[Evaluation] = []
    with pytest.raises(ZeroDivisionError, match="a bug"):
        await wait_in_body(settings(tmp_path / "out"), opened)

    assert [event.event async for event in opened[0].events()][-1] == "run_finished"
    with pytest.raises(RequestFailed, match="ZeroDivisionError: a bug") as caught:
        await opened[0].result()
    assert caught.value.result["metadata"]["status"] == "failed"


@on_virtual_time
async def test_a_bug_is_not_told_twice_to_a_body_that_waits_for_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fails when the body is woken before it is cancelled: then both leave, in a group."""

    def broken(*_given: object) -> None:
        raise ZeroDivisionError("a bug")

    async def main() -> None:
        async with open_evaluation(**settings(tmp_path / "out")) as evaluation:
            await evaluation.result()

    monkeypatch.setattr("agentcompass.engine.request.selection_record", broken)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        await main()


async def embed(given: dict[str, Any]) -> None:
    async with open_evaluation(**given) as evaluation:
        await evaluation.result()


async def evaluate(given: dict[str, Any]) -> None:
    await async_run_evaluation(**given, progress="none")


async def launch_two(given: dict[str, Any]) -> None:
    """As requests of an orchestration, whose options are told by `given` as well."""
    options = ("results_dir", "provider_limits", "env_open_qps")
    parts = ("benchmark", "harness", "environment", "model")
    both = [{"name": name, **{part: {"id": given[part]} for part in parts}} for name in "ab"]
    settled = {name: given[name] for name in options if name in given}
    await async_launch({"requests": both}, **settled, progress="none")


@pytest.mark.parametrize("run", [embed, evaluate, launch_two])
def test_an_interrupt_that_strikes_a_task_of_the_engine_leaves_as_one(
    tmp_path: Path,
    ledger: Ledger,
    monkeypatch: pytest.MonkeyPatch,
    run: Callable[[dict[str, Any]], Awaitable[None]],
) -> None:
    """It may strike wherever Python code runs; fails when it stays in the groups of nurseries."""

    async def interrupted(*_given: object, **_options: object) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Counted, "open", interrupted)
    with pytest.raises(KeyboardInterrupt):
        on_virtual_time(run)(settings(tmp_path / "out"))

    found = [read(path)["status"] for path in (tmp_path / "out").rglob("run_info.json")]
    assert set(found) == {"cancelled"}
    assert ledger.live == []


async def wait_in_body(given: dict[str, Any], opened: list[Evaluation]) -> None:
    async with open_evaluation(**given) as evaluation:
        opened.append(evaluation)
        await trio.sleep_forever()


@on_virtual_time
async def test_a_failed_evaluation_raises_with_its_result(tmp_path: Path) -> None:
    given = settings(
        tmp_path / "out", environment_params={"fails": {"open": "the sandbox is gone"}}
    )
    async with open_evaluation(**given) as evaluation:
        with pytest.raises(RequestFailed) as caught:
            await evaluation.result()

    assert caught.value.result["metadata"]["status"] == "failed"
    assert caught.value.result["evaluation_failed"]


@on_virtual_time
async def test_a_deadline_is_an_error_with_the_result(tmp_path: Path) -> None:
    async with open_evaluation(**settings(tmp_path / "out"), timeout_seconds=5) as evaluation:
        with pytest.raises(RequestTimeout, match="5 s") as caught:
            await evaluation.result()

    assert caught.value.result["metadata"]["status"] == "timed_out"


async def open_in_vain(given: dict[str, Any]) -> None:
    async with open_evaluation(**given):
        raise AssertionError("it was opened")


@on_virtual_time
async def test_what_is_wrong_with_its_settings_is_said_before_its_body(tmp_path: Path) -> None:
    for given, message in (
        ({"harness": "nope"}, "'nope' is not known"),
        ({"event_buffer": 0}, "event_buffer: expected a whole number from 1, not 0"),
        ({"event_buffer": True}, "event_buffer: expected a whole number from 1, not True"),
        ({"on_progress": print}, "on_progress"),
    ):
        with pytest.raises(UsageError, match=message):
            await open_in_vain({**settings(tmp_path / "out"), **given})

    assert not (tmp_path / "out").exists()


@on_virtual_time
async def test_what_only_its_data_tell_is_an_error_of_its_result(tmp_path: Path) -> None:
    given = settings(tmp_path / "out", benchmark_params={"sample_ids": ["no-such-task"]})
    async with open_evaluation(**given) as evaluation:
        with pytest.raises(UsageError, match="no-such-task"):
            await evaluation.result()

    assert [event async for event in evaluation.events()] == []
    assert evaluation.run_dir is None


@pytest.mark.parametrize("begin", [open_in_vain, evaluate, launch_two])
@on_virtual_time
async def test_an_evaluation_that_is_refused_changes_no_limit(
    tmp_path: Path, begin: Callable[[dict[str, Any]], Awaitable[None]]
) -> None:
    given = settings(tmp_path / "out", provider_limits={"counted": 1})
    given["harness"] = "mini_swe_agent"  # which wants a model
    before = provider_limiter("counted").total_tokens
    with pytest.raises(UsageError, match="model-base-url is required"):
        await begin(given)

    assert provider_limiter("counted").total_tokens == before


@on_virtual_time
async def test_of_two_at_once_with_one_run_id_the_second_is_refused(tmp_path: Path) -> None:
    ended: list[str] = []

    async def run() -> None:
        try:
            async with open_evaluation(**settings(tmp_path / "out", run_id="mine")) as evaluation:
                await evaluation.result()
            ended.append("completed")
        except UsageError as error:
            ended.append(str(error))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        nursery.start_soon(run)

    [refusal] = [end for end in ended if end != "completed"]
    assert "already exists; choose another id" in refusal


@on_virtual_time
async def test_its_settings_are_read_once_and_left_as_they_are(tmp_path: Path) -> None:
    given = settings(tmp_path / "out", task_concurrency=1)
    before = copy.deepcopy(given)
    async with open_evaluation(**given) as evaluation:
        assert given == before
        given["environment_params"]["exec"].clear()
        given["benchmark_params"].clear()
        result = await evaluation.result()

    assert result["metadata"]["total_tasks"] == 2
    assert result["metrics"]["series"][0]["value"] == 1.0


def test_outside_of_trio_it_says_what_to_call_there() -> None:
    opening = open_evaluation(benchmark="starter").__aenter__()
    with pytest.raises(UsageError, match=r"open_evaluation\(\) runs on trio; .*run_evaluation\(\)"):
        opening.send(None)  # type: ignore[attr-defined]


@on_virtual_time
async def test_several_share_the_limits_of_the_process(tmp_path: Path, ledger: Ledger) -> None:
    """The second one names no limit: what the first one asked for stays."""
    async with trio.open_nursery() as nursery:
        async with open_evaluation(
            **settings(tmp_path / "out", tasks=4, provider_limits={"counted": 3})
        ) as first:
            async with open_evaluation(**settings(tmp_path / "out", tasks=4)) as second:
                nursery.start_soon(first.result)
                await second.result()
                await first.result()

    assert ledger.peak_live == 3
    assert trio.current_time() == 30
    assert first.run_dir != second.run_dir


@on_virtual_time
async def test_slots_and_provider_limits_change_while_it_runs(
    tmp_path: Path, ledger: Ledger
) -> None:
    given = settings(tmp_path / "out", tasks=4, task_concurrency=1)
    async with open_evaluation(**given) as evaluation:
        await trio.sleep(5)
        evaluation.set_task_concurrency(4)
        evaluation.set_provider_limit("counted", 2)
        await trio.sleep(1)
        assert len(ledger.live) == 2
        evaluation.set_provider_limit("counted", 0)
        await evaluation.result()
        assert evaluation.run_dir is not None

    assert ledger.open_times == [0, 5, 6, 6]
    log = (evaluation.run_dir / "run.log").read_text()
    assert "task_concurrency is 4 from now on" in log
    assert log.index("the limit of counted is 2") < log.index("the limit of counted is none")


@on_virtual_time
async def test_limits_that_cannot_be_are_refused(tmp_path: Path) -> None:
    refused: list[tuple[Callable[[Evaluation], None], str]] = [
        (lambda it: it.set_task_concurrency(0), "task_concurrency: .* not 0"),
        (lambda it: it.set_task_concurrency(True), "task_concurrency: .* not True"),
        (lambda it: it.set_provider_limit("counted", -1), "provider_limits: .* not -1"),
        (lambda it: it.set_provider_limit("dokcer", 1), "'dokcer' is not known; known: counted"),
    ]
    async with open_evaluation(**settings(tmp_path / "out")) as evaluation:
        for change, message in refused:
            with pytest.raises(UsageError, match=message):
                change(evaluation)


@on_virtual_time
async def test_a_pause_lets_the_running_end_and_is_on_record(
    tmp_path: Path, ledger: Ledger
) -> None:
    given = settings(tmp_path / "out", task_concurrency=1)
    async with open_evaluation(**given) as evaluation:
        await trio.sleep(5)
        evaluation.pause()
        assert evaluation.is_paused
        await trio.sleep(95)
        assert (ledger.live, provider_limiter("counted").borrowed_tokens) == ([], 0)
        evaluation.resume()
        result = await evaluation.result()

    assert ledger.open_times == [0, 100]
    assert result["metrics"]["series"][0]["value"] == 1.0
    log = Path(result["paths"]["log_file"]).read_text()
    assert log.index("paused: no execution is begun") < log.index(" resumed")


@on_virtual_time
async def test_what_is_changed_before_it_begins_is_on_record_too(tmp_path: Path) -> None:
    async with open_evaluation(**settings(tmp_path / "out")) as evaluation:
        evaluation.pause()
        evaluation.set_task_concurrency(1)
        await trio.sleep(50)
        evaluation.resume()
        result = await evaluation.result()

    log = Path(result["paths"]["log_file"]).read_text()
    assert log.index("paused: no ex") < log.index("task_concurrency is 1") < log.index(" resumed")


@on_virtual_time
async def test_a_paused_evaluation_meets_its_deadline_or_the_end_of_its_body(
    tmp_path: Path,
) -> None:
    async with open_evaluation(**settings(tmp_path / "out"), timeout_seconds=50) as timed:
        timed.pause()
        async with open_evaluation(**settings(tmp_path / "out")) as left:
            left.pause()
            with pytest.raises(RequestTimeout):
                await timed.result()

    assert trio.current_time() == 50
    assert left.progress.status == "cancelled"


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def of_the_host() -> dict[str, Any]:
    logger, root = logging.getLogger("agentcompass"), logging.getLogger()
    return {
        "handlers": [signal.getsignal(s) for s in sorted(signal.valid_signals())],
        "hooks": [sys.excepthook, sys.unraisablehook, threading.excepthook, warnings.showwarning],
        "filters": warnings.filters[:],
        "umask": umask(),
        "cwd": os.getcwd(),  # noqa: PTH109
        "environ": dict(os.environ),
        "effective": [logger.getEffectiveLevel(), root.level, logging.raiseExceptions],
    }


@on_virtual_time
async def test_the_host_keeps_its_signals_its_folder_and_its_logging(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    logger, root = logging.getLogger("agentcompass"), logging.getLogger()
    before = of_the_host(), (logger.handlers[:], logger.level, logger.propagate, root.handlers[:])
    async with open_evaluation(**settings(tmp_path / "out")) as evaluation:
        await trio.sleep(5)
        during = of_the_host()
        await evaluation.result()
    after = of_the_host(), (logger.handlers[:], logger.level, logger.propagate, root.handlers[:])

    during["effective"][0] = before[0]["effective"][0]  # what only its run.log is told
    assert during == before[0]
    assert after == before
    assert [record for record in caplog.records if record.levelno < logging.WARNING] == []
    assert capfd.readouterr() == ("", "")


def test_it_runs_on_trio_as_a_guest_of_asyncio(tmp_path: Path) -> None:
    async def on_trio() -> str:
        async with open_evaluation(**settings(tmp_path / "out", seconds=0)) as evaluation:
            last = [event.status async for event in evaluation.events()][-1]
            await evaluation.result()
            return str(last)

    async def on_asyncio() -> str:
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[Any] = loop.create_future()
        trio.lowlevel.start_guest_run(
            on_trio,
            run_sync_soon_threadsafe=loop.call_soon_threadsafe,
            done_callback=ended.set_result,
            host_uses_signal_set_wakeup_fd=True,
        )
        return str((await ended).unwrap())

    assert asyncio.run(on_asyncio()) == "completed"


def test_trio_runs_in_several_threads_have_their_own(tmp_path: Path, ledger: Ledger) -> None:
    ended: list[str] = []

    async def main() -> None:
        given = settings(tmp_path / "out", seconds=0, provider_limits={"counted": 1})
        async with open_evaluation(**given) as evaluation:
            ended.append((await evaluation.result())["metadata"]["status"])

    threads = [threading.Thread(target=trio.run, args=(main,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert ended == ["completed"] * 3
    assert ledger.live == []


@on_virtual_time
async def test_one_that_is_never_entered_leaves_nothing(tmp_path: Path) -> None:
    open_evaluation(**settings(tmp_path / "out"))  # filterwarnings would tell of what it left
    gc.collect()

    assert not (tmp_path / "out").exists()


@on_virtual_time
async def test_an_ended_evaluation_does_not_keep_the_data_of_its_tasks(tmp_path: Path) -> None:
    async with open_evaluation(**settings(tmp_path / "out")) as evaluation:
        await evaluation.result()
    gc.collect()

    assert evaluation.has_ended
    assert [held for held in gc.get_objects() if isinstance(held, Job)] == []


async def test_events_are_typed_for_readers_who_want_them_all(tmp_path: Path) -> None:
    async with open_evaluation(**settings(tmp_path / "out", seconds=0)) as evaluation:
        async for event in evaluation.events():
            assert isinstance(event, ProgressEvent | EventsDropped)
