"""The SDK as programs call it: callbacks that fail, settings that are shared."""

import copy
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from agentcompass import (
    Orchestration,
    RequestError,
    UsageError,
    async_run_evaluation,
    async_run_evaluation_request,
    build_run_request,
    launch,
    run_evaluation,
    run_evaluation_request,
    summary,
)
from agentcompass.progress.event_file import read_events
from agentcompass.records.progress import ProgressEvent
from tests.benchmarks.local_session import REWARD
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


ONE_TASK: dict[str, Any] = {
    "benchmark": "starter",
    "harness": "oracle",
    "model": "none",
    "benchmark_params": {"sample_ids": ["regional-revenue"]},
}


def unlike(result: dict[str, Any]) -> dict[str, Any]:
    """A result without what differs between two runs of one request."""
    said = json.loads(json.dumps(result))
    del said["paths"], said["metadata"]["run_id"]
    del said["metadata"]["evaluation_params"]["output"]["run_id"]
    return said


def test_a_made_request_is_run_as_its_keywords_would_be() -> None:
    request = build_run_request(**ONE_TASK, run_name="n", execution_params={"max_retries": 1})
    first = run_evaluation_request(request, results_dir="out", progress="none")
    second = trio.run(
        partial(async_run_evaluation_request, request, results_dir="out", progress="none")
    )
    keywords = {**ONE_TASK, "run_name": "n", "max_retries": 1, "results_dir": "out"}
    third = run_evaluation(**keywords, progress="none")

    assert unlike(first) == unlike(second) == unlike(third)
    assert first["summary"]["metrics"] == {"correct.native@1": 1.0}
    assert "/out/n/none_starter_oracle/" in first["paths"]["run_dir"]


def test_a_made_request_is_told_of_and_its_callback_is_checked() -> None:
    told: list[str] = []
    request = build_run_request(**ONE_TASK)

    run_evaluation_request(request, progress="none", on_progress=lambda e: told.append(e.event))

    assert (told[0], told[-1]) == ("run_started", "run_finished")
    with pytest.raises(UsageError, match="on_progress: expected a function"):
        run_evaluation_request(request, progress="none", on_progress=never_awaited)  # type: ignore[arg-type]


def test_a_resolved_orchestration_is_launched_as_often_as_one_likes() -> None:
    request = build_run_request(**ONE_TASK)
    nop = build_run_request(**{**ONE_TASK, "harness": "nop"})
    both = Orchestration.from_requests({"solved": request, "left": nop}, task_concurrency=2)

    for folder in ("a", "b"):
        result = launch(both, results_dir=folder, progress="none")
        outcomes = result.requests

        assert (result.orchestration_id, result.status) == (both.id, "completed")
        assert [outcome.error for outcome in outcomes.values()] == ["", ""]
        scores = [(each.result or {})["summary"]["metrics"] for each in outcomes.values()]
        assert scores == [{"correct.native@1": 1.0}, {"correct.native@1": 0.0}]
        assert f"/{folder}/solved/" in outcomes["solved"].paths["output_dir"]
    with pytest.raises(UsageError, match="config_path: the requests are resolved already"):
        launch(both, config_path="config.yaml", progress="none")


RECIPE = """
import attrs
from agentcompass import BaseRecipe

class Longer(BaseRecipe):
    id = "longer"
    def matches(self, task, plan):
        return plan.benchmark == "starter"
    def apply(self, task, plan):
        return attrs.evolve(plan, run_timeout_seconds=77.0)

RECIPE_CLASSES = [Longer]
"""


@pytest.mark.parametrize("way", ["made with", "run with", "launched with"])
def test_a_base_recipe_of_a_folder_is_applied_wherever_the_folder_is_named(
    tmp_path: Path, way: str
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__init__.py").write_text(RECIPE)
    folders = {"recipe_dirs": ["mine"]}
    request = build_run_request(**ONE_TASK, **(folders if way == "made with" else {}))
    if way == "launched with":
        launched = launch(Orchestration.from_requests({"a": request}, runtime=folders))
        result: Any = launched.requests["a"].result
    else:
        result = run_evaluation_request(request, **(folders if way == "run with" else {}))
    run_info = read(Path(result["paths"]["run_info"]))
    plan = run_info["resolved_execution_plans"]["regional-revenue"]["attempts"]["1"]

    assert result["applied_recipes"] == ["longer"]
    assert plan["run_timeout_seconds"] == 77.0
    assert run_info["request"]["metadata"]["recipe_dirs"] == ["mine"]


# formats.md 10: what a program that was written for the peer reads of a result.
KEYS = {"evaluation_failed", "metadata", "metrics", "summary", "paths", "applied_recipes"}
METADATA = {"model", "total_tasks", "benchmark_type", "evaluation_params"}
METRICS = {"aggregation", "evaluation_failed", "extra", "k", "strategy", "series"}
SERIES = {
    *("series_id", "metric_id", "reducer", "aggregation", "value", "reference_value", "counts"),
}
PATHS = {
    *("summary_md", "metrics_json", "params", "run_info"),
    *("progress_jsonl", "progress_json", "log_file"),
}
SECTIONS = {"benchmark", "harness", "model", "output", "runtime", "execution"}
FATAL = {"task.toml": 'schema_version = "1.4"\n[environment]\ngpus = 1\n'}
WRONG = {"tests/test.sh": REWARD.format(0)}
SLOW = {"solution/solve.sh": "sleep 60\n"}


def read_as_the_peers_users_do(result: Any) -> None:
    assert result.keys() >= KEYS
    assert result["metadata"].keys() >= METADATA
    assert result["metadata"]["benchmark_type"] == "host_process"
    asked = result["metadata"]["evaluation_params"]
    assert asked.keys() >= SECTIONS
    assert asked["benchmark"]["id"] == "task_directory"
    assert asked["execution"]["attempts"] == {"k": 1, "strategy": "avg"}
    assert asked["output"]["run_id"] == Path(result["paths"]["run_info"]).parent.name
    assert asked["model"]["api_key"] == "********"
    assert result["metrics"].keys() == METRICS
    said = result["summary"]
    assert said.keys() == {"overview", "evaluation_failed", "plan", "metrics", "series"}
    assert said["plan"] == {"k": 1, "strategy": "avg", "aggregation": "micro_weighted"}
    assert said["series"][0].keys() == SERIES
    assert said["metrics"] == {"correct.native@1": result["metrics"]["series"][0]["value"]}
    assert result["paths"].keys() >= PATHS
    assert all(Path(result["paths"][name]).is_file() for name in PATHS)
    assert read(Path(result["paths"]["metrics_json"])) == result["metrics"]


@pytest.mark.parametrize(
    ("task", "settings", "status", "value"),
    [
        ({}, {}, "completed", 1.0),
        (WRONG, {}, "completed", 0.0),
        (
            SLOW,
            {
                "execution_params": {
                    "run_timeout_seconds": 0.3,
                    "run_timer_compensation_seconds": 0,
                }
            },
            "completed",
            1.0,
        ),
        (FATAL, {}, "failed", None),
        (SLOW, {"timeout_seconds": 1}, "timed_out", None),
    ],
    ids=["success", "wrong", "error", "fatal", "timeout"],
)
async def test_a_result_has_what_the_peers_has_however_the_run_ends(
    tmp_path: Path, task: dict[str, str], settings: dict[str, Any], status: str, value: float | None
) -> None:
    key = {"model_api_key": "sk-hush-hush-hush"}
    ran = await run(tmp_path, {"a": task}, **key, **settings)

    read_as_the_peers_users_do(ran.result)
    assert ran.status == status
    assert isinstance(ran.raised, RequestError) == (status != "completed")
    assert ran.result["metrics"]["series"][0]["value"] == value
    assert ran.result["evaluation_failed"] == (status == "failed")


def test_a_summary_has_it_too(tmp_path: Path) -> None:
    result = run_evaluation(**ONE_TASK, progress="none")
    asked = {"aggregation_mode": "category_mean"}
    again = summary(run_dir=result["paths"]["run_dir"], benchmark_params=asked, dry_run=True)

    assert again["metadata"].keys() >= METADATA
    params = again["metadata"]["evaluation_params"]
    assert params.keys() >= SECTIONS
    assert params["benchmark"]["params"] == {**ONE_TASK["benchmark_params"], **asked}
