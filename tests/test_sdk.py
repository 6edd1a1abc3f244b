"""The SDK as programs call it: callbacks that fail, settings that are shared."""

import copy
from pathlib import Path
from typing import Any

import pytest
import trio

from agentcompass import UsageError, async_run_evaluation, run_evaluation
from agentcompass.progress.event_file import read_events
from agentcompass.records.progress import ProgressEvent
from tests.whole_runs import read, run


@pytest.fixture(autouse=True)
def no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


async def test_a_callback_that_raises_is_dropped_and_the_run_goes_on(tmp_path: Path) -> None:
    """cases.md 37."""
    told: list[str] = []

    def on_progress(event: ProgressEvent) -> None:
        told.append(event.event)
        if len(told) == 3:
            raise OSError("the sink is gone")

    ran = await run(tmp_path, {"a": {}, "b": {}}, on_progress=on_progress)
    log = (ran.directory / "run.log").read_text()
    events = [event.event for event in read_events(ran.directory / "progress.jsonl")]

    assert ran.status == "completed"
    assert told == events[:3]
    assert events[-1] == "run_finished"
    assert log.count("on_progress failed and is not called any more") == 1


async def test_a_callback_is_told_every_event_in_the_order_of_the_file(tmp_path: Path) -> None:
    """cases.md 37."""
    told: list[ProgressEvent] = []

    ran = await run(tmp_path, {"a": {}, "b": {}}, on_progress=told.append)
    written = list(read_events(ran.directory / "progress.jsonl"))

    assert [(e.event, e.task_id, e.phase) for e in told] == [
        (e.event, e.task_id, e.phase) for e in written
    ]


async def never_awaited(_event: ProgressEvent) -> None: ...


def itself() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["again"] = value
    return value


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"on_progress": 5}, "on_progress: expected a function that is not async, got 5"),
        ({"on_progress": never_awaited}, "on_progress: expected a function that is not async"),
        ({"model_params": itself()}, "model_params: nested too deep, holds itself"),
        ({"model_params": {"x": [object()]}}, "model_params: holds what JSON cannot: .*object"),
        ({"environment_params": itself()}, "environment_params: nested too deep, holds itself"),
        (
            {"environment_params": {"nope": 1}},
            "unknown key nope; known: .*operation_timeout.*; of every environment: setup, ",
        ),
        (
            {
                "execution_params": {
                    "retry_min_delay_seconds": 9,
                    "retry_max_delay_seconds": 3,
                }
            },
            "retry_min_delay_seconds: 9 s is more than retry_max_delay_seconds, 3",
        ),
    ],
)
async def test_what_no_program_can_mean_is_refused_in_one_line(
    tmp_path: Path, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        await run(tmp_path, {"a": {}}, **given)

    assert "\n" not in str(caught.value)
    assert not (tmp_path / "results").exists()


def test_another_event_loop_is_told_what_to_call() -> None:
    awaited = async_run_evaluation(benchmark="starter")
    with pytest.raises(UsageError, match=r"call run_evaluation\(\) in a thread"):
        awaited.send(None)


async def test_metrics_that_cannot_be_written_fail_the_run_and_are_returned(tmp_path: Path) -> None:
    def takes_the_place(event: ProgressEvent) -> None:
        if event.event == "summary_started":
            [run_info] = (tmp_path / "results").rglob("run_info.json")
            run_info.with_name("metrics.json").mkdir()

    ran = await run(tmp_path, {"a": {}}, on_progress=takes_the_place)

    assert str(ran.raised).endswith("metrics.json: Is a directory")
    assert ran.result["metrics"]["series"][0]["value"] == 1.0
    assert read(ran.directory / "run_info.json")["status"] == "failed"


async def test_requests_at_once_share_settings_and_change_none(tmp_path: Path) -> None:
    """cases.md 75."""
    shared: dict[str, Any] = {
        "environment_params": {"env_variables": {"WHO": "all"}, "resources": {}},
        "execution_params": {"artifact_limits": {"max_mb": 7}, "retry_pattern_list": ["x"]},
    }
    before = copy.deepcopy(shared)
    solve = 'echo "$WHO" "$OWN"'

    async def one(number: int) -> None:
        folder = tmp_path / str(number)
        own = {"environment_params": {"env_variables": {"OWN": str(number)}}} if number else {}
        ran = await run(folder, {"t": {"solution/solve.sh": solve}}, **{**shared, **own})
        said[number] = ran.attempts["t"]["artifacts"]["solution"]["stdout"].split()
        asked = read(ran.directory / "run_info.json")["request"]["execution"]
        assert asked["artifact_limits"]["max_mb"] == 7

    said: dict[int, list[str]] = {}
    async with trio.open_nursery() as nursery:
        for number in range(3):
            nursery.start_soon(one, number)

    assert said == {0: ["all"], 1: ["1"], 2: ["2"]}
    assert shared == before


def test_the_same_settings_can_be_run_again(tmp_path: Path) -> None:
    """cases.md 75."""
    settings: dict[str, Any] = {
        "benchmark": "starter",
        "harness": "nop",
        "model": "none",
        "benchmark_params": {"sample_ids": ["regional-revenue"]},
        "environment_params": {"env_variables": {"A": "1"}},
        "results_dir": str(tmp_path),
        "progress": "none",
    }
    before = copy.deepcopy(settings)

    first, second = run_evaluation(**settings), run_evaluation(**settings)

    assert settings == before
    assert first["metrics"] == second["metrics"]
    assert first["paths"]["output_dir"] != second["paths"]["output_dir"]
    assert first["paths"]["run_dir"] == first["paths"]["output_dir"]
