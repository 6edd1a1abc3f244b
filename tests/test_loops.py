"""Plain functions run their own loop: in any thread, and never inside somebody else's."""

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from agentcompass import (
    UsageError,
    export_run,
    launch,
    run_evaluation,
    run_evaluation_request,
    summary,
)
from agentcompass.loops import refuse_inside_a_loop, require_trio

# Each with what it cannot be called without.
ENTRIES: dict[Callable[..., Any], tuple[Any, ...]] = {
    run_evaluation: (),
    run_evaluation_request: (None,),
    launch: (None,),
    summary: ("run",),
    export_run: (),
}


@pytest.fixture
def evaluate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], dict[str, Any]]:
    """A small evaluation, to be called."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return partial(
        run_evaluation,
        benchmark="starter",
        harness="nop",
        model="none",
        environment="host_process",
        benchmark_params={"sample_ids": ["regional-revenue"]},
        results_dir=str(tmp_path / "out"),
        progress="none",
    )


def test_an_evaluation_runs_in_a_plain_thread(evaluate: Callable[[], dict[str, Any]]) -> None:
    done: list[dict[str, Any]] = []
    thread = threading.Thread(target=lambda: done.append(evaluate()))
    thread.start()
    thread.join(60)

    assert [result["metadata"]["status"] for result in done] == ["completed"]


def test_an_evaluation_runs_beside_asyncio(evaluate: Callable[[], dict[str, Any]]) -> None:
    async def main() -> tuple[dict[str, Any], int]:
        ticks = 0
        running = asyncio.create_task(asyncio.to_thread(evaluate))
        while not running.done():
            ticks += 1
            await asyncio.sleep(0.01)
        return await running, ticks

    result, ticks = asyncio.run(main())

    assert result["metadata"]["status"] == "completed"
    assert ticks > 3


async def test_an_evaluation_runs_in_a_worker_of_trio(
    evaluate: Callable[[], dict[str, Any]],
) -> None:
    result = await trio.to_thread.run_sync(evaluate)

    assert result["metadata"]["status"] == "completed"


@pytest.mark.parametrize("entry", ENTRIES)
async def test_inside_trio_the_async_twin_is_named(entry: Callable[..., Any]) -> None:
    name = entry.__name__
    with pytest.raises(UsageError, match=rf"{name}\(\) cannot run inside trio; await async_{name}"):
        entry(*ENTRIES[entry])


@pytest.mark.parametrize("entry", ENTRIES)
def test_inside_asyncio_a_thread_and_the_async_twin_are_named(entry: Callable[..., Any]) -> None:
    async def main() -> None:
        entry(*ENTRIES[entry])

    name = entry.__name__
    with pytest.raises(UsageError, match=rf"to_thread\({name}, .* await async_{name}\(\)"):
        asyncio.run(main())


def test_a_callback_of_asyncio_is_inside_as_well() -> None:
    async def main() -> str:
        told: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def callback() -> None:
            try:
                refuse_inside_a_loop("launch")
            except UsageError as error:
                told.set_result(str(error))

        asyncio.get_running_loop().call_soon(callback)
        return await told

    assert asyncio.run(main()).startswith("launch() cannot run inside asyncio")


def test_without_a_loop_nothing_is_refused() -> None:
    refuse_inside_a_loop("run_evaluation")


async def test_on_trio_nothing_is_asked_for() -> None:
    require_trio("async_summary", "summary")


def test_elsewhere_trio_is_asked_for() -> None:
    async def main() -> None:
        require_trio("async_summary", "summary")

    with pytest.raises(UsageError, match=r"async_summary\(\) runs on trio; .* summary\(\) in a th"):
        asyncio.run(main())
