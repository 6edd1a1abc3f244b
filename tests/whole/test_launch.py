"""Launches of real tasks on host_process: what they leave, however they end."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from agentcompass import (
    ConfigInvalid,
    OrchestrationResult,
    RequestOutcome,
    UsageError,
    async_launch,
    launch,
)
from agentcompass.progress.event_file import read_events
from agentcompass.records.progress import ProgressEvent
from tests.processes import alive, new_mark
from tests.whole_runs import read, write_tasks

ROOT = Path(__file__).resolve().parents[2]
FATAL = {"task.toml": 'schema_version = "1.4"\n[environment]\nallow_internet = false\n'}


@pytest.fixture(autouse=True)
def no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def plan(folder: Path, tasks: Mapping[str, Mapping[str, Any]], **top: Any) -> dict[str, Any]:
    """A request for each name in `tasks`, which are folders of tasks; `top` is beside them."""
    for name, files in tasks.items():
        write_tasks(folder / "tasks" / name, files)
    return {
        "task_concurrency": 4,
        "defaults": {
            "benchmark": {"id": "task_directory"},
            "harness": {"id": "oracle"},
            "environment": {"id": "host_process"},
            "model": {"id": "none"},
        },
        "requests": [
            {"name": name, "benchmark": {"path": str(folder / "tasks" / name)}} for name in tasks
        ],
        **top,
    }


async def run(given: Mapping[str, Any], **settings: Any) -> OrchestrationResult:
    return await async_launch(given, progress="none", results_dir="results", **settings)


def statuses(result: OrchestrationResult) -> dict[str, str]:
    return {name: outcome.status for name, outcome in result.requests.items()}


async def test_every_request_has_a_folder_of_its_name_and_its_place_on_record(
    tmp_path: Path,
) -> None:
    told: list[RequestOutcome] = []
    events: list[ProgressEvent] = []
    given = plan(tmp_path, {"req a": {"t": {}}, "req-b": {"t": {}, "u": {}}}, name="two")
    result = await run(
        given, run_id="r1", on_request_finished=told.append, on_progress=events.append
    )

    assert (result.status, result.name) == ("completed", "two")
    assert statuses(result) == {"req a": "completed", "req-b": "completed"}
    assert result.started_at <= result.finished_at
    assert {outcome.name: outcome for outcome in told} == result.requests
    for index, (name, folder) in enumerate([("req a", "req_a"), ("req-b", "req-b")]):
        directory = tmp_path / "results" / folder / "r1"
        assert result.requests[name].paths["output_dir"] == str(directory)
        place = {
            "orchestration_id": result.orchestration_id,
            "request_key": f"{result.orchestration_id}/{index}",
            "request_name": name,
            "request_index": index,
        }
        assert read(directory / "run_info.json")["request"]["metadata"] == place
        for event in read_events(directory / "progress.jsonl"):
            assert {field: getattr(event, field) for field in place} == place
        of_request = [e.event for e in events if e.request_name == name]
        assert of_request == [e.event for e in read_events(directory / "progress.jsonl")]
    outcome = result.requests["req-b"].result
    assert outcome is not None
    assert outcome["metrics"]["series"][0]["value"] == 1.0


async def test_the_agents_of_all_requests_share_the_slots(tmp_path: Path) -> None:
    """Fails where each request has the slots for itself."""
    log = tmp_path / "log"
    solve = {"solution/solve.sh": f"echo begins >> {log}; sleep 0.1; echo ends >> {log}\n"}
    given = plan(tmp_path, {"a": {"t": solve, "u": solve}, "b": {"v": solve}}, task_concurrency=1)

    assert (await run(given)).status == "completed"
    assert log.read_text().split() == ["begins", "ends"] * 3


async def test_a_request_that_cannot_be_prepared_fails_alone_after_others_began(
    tmp_path: Path,
) -> None:
    given = plan(tmp_path, {"good": {"t": {}}, "lost": {"t": {}}, "last": {"t": {}}})
    given["requests"][1]["benchmark"]["sample_ids"] = ["nobody"]
    result = await run(given)

    assert result.status == "partial_failure"
    assert statuses(result) == {"good": "completed", "lost": "failed", "last": "completed"}
    lost = result.requests["lost"]
    assert "nobody" in str(lost.error)
    assert (lost.result, lost.paths) == (None, {})
    assert not (tmp_path / "results" / "lost").exists()


async def test_a_fatal_request_keeps_its_result(tmp_path: Path) -> None:
    result = await run(plan(tmp_path, {"bad": {"t": FATAL}}))

    bad = result.requests["bad"]
    assert result.status == "failed"
    assert bad.result is not None
    assert bad.result["evaluation_failed"]
    assert Path(bad.paths["summary_md"]).is_file()


async def test_what_preflight_finds_in_any_request_starts_none(tmp_path: Path) -> None:
    """The faults of all requests are told at once."""
    given = plan(tmp_path, {"a": {"t": {}}, "b": {"t": {}}, "c": {"t": {}}, "x y": {}, "x/y": {}})
    given["requests"][1]["environment"] = {"image": "busybox"}
    given["requests"][2]["harness"] = {"id": "none"}
    (tmp_path / "results" / "a" / "r1").mkdir(parents=True)
    with pytest.raises(ConfigInvalid) as refused:
        await run(given, run_id="r1")

    shared, taken, image, none = refused.value.faults
    assert shared == "requests 'x y' and 'x/y' have the same output folder x_y; rename one"
    assert taken.startswith("request 'a': --run-id: ")
    assert taken.endswith("a/r1 already exists; choose another id")
    assert image.startswith("request 'b': --env-params: environment 'host_process' cannot give")
    assert none.startswith("request 'c': harness 'none' is for a benchmark that runs its own")
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["a"]


@pytest.mark.parametrize("name", [".", ".."])
async def test_a_name_that_is_no_folder_is_refused(tmp_path: Path, name: str) -> None:
    given = plan(tmp_path, {"a": {"t": {}}})
    given["requests"][0]["name"] = name
    with pytest.raises(UsageError, match="is not the name of a folder"):
        await run(given)

    assert not (tmp_path / "results").exists()


async def test_the_same_name_below_another_run_name_is_another_folder(tmp_path: Path) -> None:
    given = plan(tmp_path, {"a b": {"t": {}}, "a/b": {"t": {}}})
    given["requests"][1]["output"] = {"run_name": "other"}

    assert (await run(given)).status == "completed"
    assert {path.name for path in (tmp_path / "results").iterdir()} == {"a_b", "other"}


async def test_two_launches_of_one_second_overwrite_nothing(tmp_path: Path) -> None:
    """cases.md 27."""
    given = plan(tmp_path, {"a": {"t": {}}, "b": {"t": {}}})
    directories: set[str] = set()

    async def one() -> None:
        result = await run(given)
        directories.update(outcome.paths["output_dir"] for outcome in result.requests.values())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(one)
        nursery.start_soon(one)

    assert len(directories) == 4


async def test_reuse_takes_the_newest_run_of_each_request(tmp_path: Path) -> None:
    given = plan(tmp_path, {"a": {"t": {}}, "b": {"t": {}}})
    given["requests"][1]["runtime"] = {"reuse": False}
    await run(given, run_id="r1")
    result = await run(given, run_id="r2", reuse=True)

    a, b = (outcome.result or {} for outcome in result.requests.values())
    assert a["metadata"]["reused_from"]["run_id"] == "r1"
    assert a["metadata"]["reuse_counts"] == {"reused": 1, "resumed": 0, "executed": 0}
    assert "reused_from" not in b["metadata"]


async def test_a_run_to_reuse_that_is_not_there_is_found_in_preflight(tmp_path: Path) -> None:
    given = plan(tmp_path, {"a": {"t": {}}, "b": {"t": {}}})
    given["requests"][1]["runtime"] = {"reuse": True, "reuse_run_id": "gone"}
    with pytest.raises(ConfigInvalid, match=r"^request 'b': --reuse: run gone cannot be reused: "):
        await run(given)

    assert not (tmp_path / "results").exists()


async def test_a_callback_that_fails_is_dropped_and_the_launch_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """cases.md 37."""
    told: list[str] = []

    def raises(outcome: RequestOutcome) -> None:
        told.append(outcome.name)
        raise OSError("the sink is gone")

    given = plan(tmp_path, {"a": {"t": {}}, "b": {"t": {}}})
    result = await async_launch(
        given, progress="plain", results_dir="results", on_request_finished=raises
    )
    shown = capsys.readouterr().err

    assert result.status == "completed"
    assert len(told) == 1
    assert shown.count("on_request_finished failed and is not called any more") == 1
    assert "\na: [1/1] t: correct 1\n" in shown
    assert "\nb: completed after" in shown
    assert "b: INFO agentcompass.engine.request AgentCompass" in shown


@pytest.mark.parametrize("leaves", [SystemExit(3), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("name", ["on_progress", "on_request_finished"])
def test_a_callback_that_leaves_cancels_the_launch_and_leaves_once_it_is_cleaned_up(
    tmp_path: Path, mark: str, name: str, leaves: BaseException
) -> None:
    """Fails where it is the issue of an attempt, or leaves in a group over a run without an end."""
    told: list[str] = []

    def leave(what: Any) -> None:
        told.append(getattr(what, "event", "request"))
        if told[-1] in ("task_finished", "request"):
            raise leaves

    given = plan(tmp_path, {"a": {"t": {}}, "b": {"s": {"solution/solve.sh": STUBBORN}}})
    given["defaults"]["environment"]["env_variables"] = {"MARK": mark}
    with pytest.raises(type(leaves)) as left:
        launch(given, progress="none", results_dir="results", **{name: leave})

    assert left.value is leaves
    assert told.count(told[-1]) == 1
    assert alive(mark) == []
    states = [read(path)["status"] for path in sorted(tmp_path.glob("results/*/*/run_info.json"))]
    assert states in (["cancelled"], ["cancelled"] * 2, ["completed", "cancelled"])
    assert len(list(tmp_path.glob("results/*/*/metrics.json"))) == len(states)


@pytest.mark.parametrize("name", ["on_progress", "on_request_finished"])
async def test_a_callback_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=f"^{name}: expected a function that is not async, got 5"):
        await run(plan(tmp_path, {"a": {}}), **{name: 5})


async def test_inside_trio_the_plain_function_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"launch\(\) cannot run inside trio; await async_launch"):
        launch(plan(tmp_path, {"a": {}}))


def test_the_plain_function_runs_a_loop_of_its_own(tmp_path: Path) -> None:
    given = plan(tmp_path, {"a": {"t": {}}}, runtime={"progress": "none"})

    assert launch(given).status == "completed"


def test_the_examples_of_the_page_for_python_run(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "sdk.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for each in page.split("```python\n")[2:]:  # the first runs all of starter
        exec(each.partition("```")[0], names)
    lines = capsys.readouterr().out.splitlines()

    assert lines[0].startswith("solved completed no error ")
    assert lines[1].startswith("left alone completed no error ")
    assert lines[2] == "['solved', 'left alone'] results"
    assert lines[3] == "# STARTER Evaluation Results"


# A task whose agent starts a child in a session of its own and waits for both.
STUBBORN = 'trap "" TERM INT; setsid sleep 1234 & sleep 1234 & wait; wait\n'


@pytest.fixture
def mark() -> Iterator[str]:
    made = new_mark()
    yield made
    for line in alive(made):
        os.kill(int(line.split()[0]), signal.SIGKILL)


def start(folder: Path, given: Mapping[str, Any], mark: str, *options: str) -> Any:
    """`agentcompass launch` as a process of its own, whose tasks carry `mark`."""
    (folder / "plan.json").write_text(json.dumps(given), encoding="utf-8")
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(folder)}
    command = [sys.executable, "-m", "agentcompass", "launch", "plan.json", *options]
    given["defaults"]["environment"]["env_variables"] = {"MARK": mark}
    (folder / "plan.json").write_text(json.dumps(given), encoding="utf-8")
    return subprocess.Popen(
        command, cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def stubborn(folder: Path) -> dict[str, Any]:
    slow = {"solution/solve.sh": STUBBORN}
    given = plan(
        folder, {"a": {"quick": {}, "s1": slow}, "b": {"s2": slow}, "c": {"s3": slow, "s4": slow}}
    )
    given["task_concurrency"] = 3
    return given


def wait_for_marked(mark: str, count: int) -> None:
    ends_at = time.monotonic() + 30
    while len(alive(mark)) < count:
        assert time.monotonic() < ends_at, alive(mark)
        time.sleep(0.1)


def ended(process: Any) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=60)
    return process.returncode, out.decode(), err.decode()


def check_nothing_is_left(folder: Path, mark: str, status: str) -> None:
    assert alive(mark) == []
    infos = sorted((folder / "results").glob("*/*/run_info.json"))
    assert infos
    assert {read(path)["status"] for path in infos} == {status}
    for path in infos:
        assert not list(path.parent.glob(".env-resources/*"))
        assert path.with_name("metrics.json").is_file()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["SIGINT", "SIGTERM"]
)
def test_a_signal_ends_every_request_and_leaves_no_process(
    tmp_path: Path, mark: str, number: signal.Signals, code: int
) -> None:
    process = start(tmp_path, stubborn(tmp_path), mark, "--cleanup-grace-seconds", "20")
    wait_for_marked(mark, 9)
    process.send_signal(number)
    returncode, out, err = ended(process)

    assert returncode == code, err
    check_nothing_is_left(tmp_path, mark, "cancelled")
    assert f"{number.name}: cancelling, cleaning up for at most 20 s" in err
    assert err.splitlines()[-1] == f"Error: cancelled by {number.name}"
    assert "Traceback" not in err
    assert [line.split()[:2] for line in out.splitlines()[1:4]] == [
        [name, "cancelled"] for name in "abc"
    ]


def test_the_deadline_of_the_whole_leaves_no_process(tmp_path: Path, mark: str) -> None:
    process = start(tmp_path, stubborn(tmp_path), mark, "--timeout-seconds", "1.5")
    returncode, out, err = ended(process)

    assert returncode == 124, err
    check_nothing_is_left(tmp_path, mark, "timed_out")
    assert err.splitlines()[-1] == "Error: out of time: 3 of 3 requests: 'a', 'b', 'c'"
    assert "a: orchestration deadline exceeded: 1.5 s" in err
    assert "timed out" in out


async def test_a_cancellation_by_the_caller_leaves_no_process(tmp_path: Path, mark: str) -> None:
    told: list[RequestOutcome] = []
    given = stubborn(tmp_path)
    given["defaults"]["environment"]["env_variables"] = {"MARK": mark}

    async def cancel() -> None:
        await trio.to_thread.run_sync(wait_for_marked, mark, 9)
        nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(cancel)
        await run(given, on_request_finished=told.append)

    check_nothing_is_left(tmp_path, mark, "cancelled")
    assert {outcome.status for outcome in told} == {"cancelled"}
    assert len(told) == 3
