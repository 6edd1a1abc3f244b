"""An evaluation inside a trio program: followed, steered, cancelled, and no guest that intrudes."""

import gc
import logging
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from agentcompass import (
    Evaluation,
    EventsDropped,
    ProgressEvent,
    RequestCancelled,
    RequestFailed,
    RequestTimeout,
    UsageError,
    open_evaluation,
)
from agentcompass.engine.job import Job
from agentcompass.engine.limits import provider_limiter
from agentcompass.environments._fake_ledger import Ledger
from agentcompass.progress.event_file import read_events
from tests.embedded import counted, rules, settings
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


async def leave_by(error: Exception, given: dict[str, Any]) -> None:
    async with open_evaluation(**given):
        await trio.sleep(5)
        raise error


@on_virtual_time
async def test_what_the_body_raises_leaves_as_it_is(tmp_path: Path, ledger: Ledger) -> None:
    with pytest.raises(KeyError, match="mine"):
        await leave_by(KeyError("mine"), settings(tmp_path / "out"))

    assert ledger.live == []


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


def of_the_host() -> dict[str, Any]:
    logger, root = logging.getLogger("agentcompass"), logging.getLogger()
    return {
        "handlers": [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)],
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
