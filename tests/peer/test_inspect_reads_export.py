"""Inspect reads every exported log, whole and in part, and finds our numbers in it.

Needs inspect-ai 0.3.285 in an environment of its own, whose interpreter AGENTCOMPASS_INSPECT_PYTHON
names. `make inspect INSPECT_VENV=FOLDER` makes the environment in FOLDER, once, and runs these
tests.
"""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentcompass import RequestFailed, run_evaluation
from agentcompass.records.request import AttemptPlan
from agentcompass.store.atomic import read_record
from agentcompass.store.layout import RunLayout
from tests.exporting.told_runs import HALF, exported, told, told_run
from tests.fakes import Script
from tests.summarizing.runs import summarized

PYTHON = os.environ.get("AGENTCOMPASS_INSPECT_PYTHON", "")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not PYTHON, reason="AGENTCOMPASS_INSPECT_PYTHON is not set: run `make inspect`"
    ),
]

PEER = Path(__file__).parents[2] / "fixtures" / "peer"
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
MIXED = {
    "t1": [Script(verdict=False), Script(), Script()],
    "t2": Script(agent="error"),
    "t3": Script(scoring="error"),
    "t4": Script(),
}
FATAL = {**MIXED, "t5": Script(agent="fatal")}


def starter(folder: Path, **settings: Any) -> Path:
    try:
        done = run_evaluation(
            benchmark="starter",
            harness="mini_swe_agent",
            model="replay",
            model_api_protocol="replay",
            benchmark_params={"sample_ids": ["nginx-vhost", "single-flight-cache"]},
            results_dir=str(folder),
            progress="none",
            **settings,
        )
    except RequestFailed as error:
        done = error.result
    return Path(done["paths"]["output_dir"])


def odd(folder: Path) -> Path:
    user = [{"type": "text", "text": "Look."}, PICTURE]
    seen = told(f"half {HALF} nul \0", '{"a": ' * 300 + "1" + "}" * 300)
    seen["steps"][0]["user_content"] = user
    ids = [HALF, "a\0b", "../up", "x" * 300, "A", "a", "é/ü"]
    return told_run(folder, dict.fromkeys(ids, Script()), trajectories={HALF: seen, "A": {}})


def cut_short(folder: Path, **fields: Any) -> Path:
    run = told_run(folder, MIXED)
    info = read_record(run / "run_info.json")
    kept = {name: value for name, value in info.items() if name not in ("status", "finished_at")}
    more = {"task_ids": [*info["task_ids"], "t9"], **fields}
    (run / "run_info.json").write_text(json.dumps({**kept, **more}))
    (RunLayout(run).task("t4", "normal").directory / "task.json").write_text("{")
    return run


RUNS: dict[str, Callable[[Path], Path]] = {
    "k1": lambda folder: told_run(folder, MIXED),
    "k3avg": lambda folder: told_run(folder, MIXED, attempts=AttemptPlan(k=3)),
    "k3pass": lambda folder: told_run(folder, MIXED, attempts=AttemptPlan(k=3, strategy="pass")),
    "fatal": lambda folder: told_run(folder, FATAL, attempts=AttemptPlan(k=2)),
    "deadline": lambda folder: told_run(
        folder,
        {"t1": Script(run_seconds=60)},
        run_timeout_seconds=10.0,
        run_timer_compensation_seconds=0.0,
    ),
    "odd": odd,
    "killed": cut_short,
    "cancelled": lambda folder: cut_short(folder, status="cancelled"),
    "timed out": lambda folder: cut_short(folder, status="timed_out", error="request deadline"),
    "starter": starter,
    "starter out of time": lambda folder: starter(
        folder,
        execution_params={"run_timeout_seconds": 0.01, "run_timer_compensation_seconds": 0},
    ),
    **{
        f"peer {name}": lambda _folder, name=name: PEER / name
        for name in ("error", "fatal", "k3avg", "k3pass", "sigint/r1", "success")
    },
}
STATUS = {
    "fatal": "error",
    "peer fatal": "error",
    "timed out": "error",
    "killed": "started",
    "cancelled": "cancelled",
    "peer sigint/r1": "cancelled",
}
SUFFIXES = (".eval", ".json")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of logs of every run, and `runs.json`, which tells where the runs are."""
    root = tmp_path_factory.mktemp("inspect")
    runs = {name: make(root / name.replace("/", " ")) for name, make in RUNS.items()}
    for name, run in runs.items():
        for suffix in SUFFIXES:
            exported(run, root / "logs" / f"{name.replace('/', ' ')}{suffix}", "inspect")
    (root / "runs.json").write_text(json.dumps({name: str(run) for name, run in runs.items()}))
    return root


@pytest.fixture(scope="module")
def read(logs: Path) -> dict[str, Any]:
    """What Inspect made of each log, all by one start of it."""
    script = Path(__file__).with_name("inspect_logs.py")
    paths = sorted((logs / "logs").iterdir())
    done = subprocess.run(
        [PYTHON, script, logs / "read.json", *paths], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads((logs / "read.json").read_text())
    return {Path(path).name: log for path, log in found.items()}


@pytest.mark.parametrize("name", RUNS)
def test_it_reads_both_forms_as_the_same_log(read: dict[str, Any], name: str) -> None:
    one, two = (read[f"{name.replace('/', ' ')}{suffix}"] for suffix in SUFFIXES)

    assert one["status"] == STATUS.get(name, "success")
    assert one == two


@pytest.mark.parametrize("name", RUNS)
def test_it_finds_our_numbers(read: dict[str, Any], logs: Path, name: str) -> None:
    run = Path(json.loads((logs / "runs.json").read_text())[name])
    log = read[f"{name.replace('/', ' ')}.eval"]
    report = summarized(run)["metrics"]
    shown = [
        (score["name"], {metric["name"]: metric["value"] for metric in score["metrics"].values()})
        for score in log["results"]["scores"]
    ]

    assert shown == [(series["metric_id"], named(series)) for series in report["series"]]
    assert log["results"]["logged_samples"] == len(log["samples"])


def named(series: dict[str, Any]) -> dict[str, float]:
    values = {f"{series['reducer']}@{series['k']}": series["value"]}
    values |= {"reference": series["reference_value"]}
    return {name: value for name, value in values.items() if value is not None}


def test_it_finds_what_the_agent_did(read: dict[str, Any]) -> None:
    [sample] = [one for one in read["starter.eval"]["samples"] if one["id"] == "nginx-vhost"]
    roles = [message["role"] for message in sample["messages"]]

    assert roles[:4] == ["system", "user", "assistant", "tool"]
    assert sample["messages"][2]["tool_calls"][0]["function"] == "bash"
    assert sample["scores"]["correct"]["value"] is True
    assert sample["total_time"] > 0


def test_a_deadline_is_a_limit(read: dict[str, Any]) -> None:
    for name, seconds in (("deadline", 10.0), ("starter out of time", 0.01)):
        for sample in read[f"{name}.eval"]["samples"]:
            assert (sample["limit"]["type"], sample["limit"]["limit"]) == ("time", seconds)
            assert sample["error"] is None


def test_its_command_line_lists_and_dumps_them(logs: Path) -> None:
    command = Path(PYTHON).with_name("inspect")
    options: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 300, "check": True}
    listed = subprocess.run(
        [command, "log", "list", "--json", "--log-dir", logs / "logs"], **options
    )
    # A .json counts only under a name as Inspect gives it.
    assert len(json.loads(listed.stdout)) == len(RUNS)

    for suffix in SUFFIXES:
        path = logs / "logs" / f"odd{suffix}"
        dumped = subprocess.run([command, "log", "dump", path], **options)
        assert len(json.loads(dumped.stdout)["samples"]) == 7
