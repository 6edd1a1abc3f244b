"""The SDK as programs call it: callbacks that fail, settings that are shared."""

import copy
from pathlib import Path
from typing import Any

import pytest
import trio

from agentcompass import run_evaluation
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
