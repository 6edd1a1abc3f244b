"""Every attempt's trajectory is in ATIF, under a name that the index tells."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from agentcompass.errors import RecordCorrupt
from agentcompass.exporting.atif_schema import checked_atif
from agentcompass.records.request import AttemptPlan
from agentcompass.store.layout import RunLayout, task_folder
from tests import atif_schema
from tests.exporting.told_runs import HALF, exported, index, told, told_run
from tests.fakes import Script
from tests.summarizing.runs import tree

PEER = Path(__file__).parents[2] / "fixtures" / "peer"
SECRET = "planted-secret-value"


def read(path: Path) -> Any:
    return json.loads(path.read_bytes())


def change(path: Path, **fields: Any) -> None:
    path.write_text(json.dumps({**read(path), **fields}))


def attempt_of(run: Path, task: str = "t1") -> Path:
    return RunLayout(run).task(task, "normal").attempt(1).directory


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return told_run(tmp_path / "runs", {"t1": Script(), "é/2": Script(agent="fatal")})


def test_each_attempt_has_a_file_or_the_reason_why_not(run: Path, tmp_path: Path) -> None:
    before = tree(run)
    folder = exported(run, tmp_path / "new" / "atif", "atif")

    name = f"{task_folder('t1')}.attempt-1.json"
    assert sorted(index(folder), key=str) == [
        {"task_id": "t1", "attempt": 1, "file": name},
        {"task_id": "é/2", "attempt": 1, "file": None, "fault": "no trajectory"},
    ]
    assert {path.name for path in folder.iterdir()} == {"index.jsonl", name}
    assert read(folder / name) == read(attempt_of(run) / "artifacts" / "trajectory.atif.json")
    assert tree(run) == before


def test_every_attempt_of_a_task_has_its_own(tmp_path: Path) -> None:
    run = told_run(tmp_path / "runs", {"t1": Script()}, attempts=AttemptPlan(k=3))
    folder = exported(run, tmp_path / "atif", "atif")
    named = {line["file"]: line["attempt"] for line in index(folder)}

    assert sorted(named.values()) == [1, 2, 3]
    for name, number in named.items():
        atif_schema.check(read(folder / name))
        assert read(folder / name)["session_id"].endswith(f"/attempt-{number}")


def damaged(path: Path) -> None:
    path.write_text("{")


def another_schema(path: Path) -> None:
    change(path, schema_version="ATIF-v0.1")


def not_a_trajectory(path: Path) -> None:
    path.write_text('["steps"]')


def gone(path: Path) -> None:
    path.unlink()


def a_link(path: Path) -> None:
    path.rename(path.with_name("away"))
    change(path.with_name("away"), session_id="behind a link")
    path.symlink_to("away")


def collected(path: Path) -> None:
    change(path, session_id="by the agent itself")
    entries = [{"source": "/logs", "destination": "trajectory.atif.json"}]
    change(path.parents[1] / "result.json", artifacts={"declared_artifacts": {"entries": entries}})


@pytest.mark.parametrize(
    "spoil", [damaged, another_schema, not_a_trajectory, gone, a_link, collected]
)
def test_without_a_whole_artifact_of_ours_the_result_is_converted(
    run: Path, tmp_path: Path, spoil: Any
) -> None:
    path = attempt_of(run) / "artifacts" / "trajectory.atif.json"
    before = read(path)
    spoil(path)
    folder = exported(run, tmp_path / "atif", "atif")

    found = read(folder / f"{task_folder('t1')}.attempt-1.json")
    assert {**found, "agent": {}} == {**before, "agent": {}}
    assert found["agent"]["version"] == "unknown"


@pytest.mark.parametrize(
    "text", ["{", '{"a": NaN}', '{"a": ' * 300 + "1" + "}" * 300, f'{{"a": "{HALF}"}}', "9" * 5000]
)
def test_what_a_model_may_write_is_kept_and_valid(tmp_path: Path, text: str) -> None:
    """Lone halves of surrogate pairs are cases.md, row 24."""
    trajectories = {"t1": told(f"half {HALF}", text)}
    run = told_run(tmp_path / "runs", {"t1": Script()}, trajectories=trajectories)
    folder = exported(run, tmp_path / "atif", "atif")
    [line] = index(folder)
    document = read(folder / line["file"])

    atif_schema.check(document)
    assert document["steps"][2]["message"] == r"half \ud83d"
    json.dumps(document, ensure_ascii=False).encode()


def test_known_secrets_are_masked(tmp_path: Path) -> None:
    trajectories = {"t1": told(f"I use {SECRET}.")}
    run = told_run(tmp_path / "runs", {"t1": Script()}, trajectories=trajectories)
    folder = exported(run, tmp_path / "atif", "atif", SECRET)

    assert SECRET.encode() in b"".join(tree(run).values())
    assert SECRET.encode() not in b"".join(tree(folder).values())


def test_one_damaged_task_costs_only_itself(run: Path, tmp_path: Path) -> None:
    (RunLayout(run).task("é/2", "fatal").directory / "task.json").write_text("{")
    lines = index(exported(run, tmp_path / "atif", "atif"))

    assert [line["task_id"] for line in lines] == ["t1", None]
    assert "task.json: not readable as JSON" in lines[1]["fault"]


def test_a_task_in_the_folder_of_another_is_named(run: Path, tmp_path: Path) -> None:
    own = RunLayout(run).task("t1", "normal").directory
    shutil.copytree(own, own.with_name("t1--0"))
    lines = index(exported(run, tmp_path / "atif", "atif"))

    assert [line["attempt"] for line in lines] == [None, 1, 1]
    assert "not the folder of task 't1'" in lines[0]["fault"]


def test_a_finished_attempt_of_a_task_that_goes_on_is_there(run: Path, tmp_path: Path) -> None:
    task = RunLayout(run).task("t1", "normal").directory
    change(task / "task.json", attempts={"1": "attempt-1", "2": "attempt-2"})
    (task / "attempt-2").mkdir()
    (run / "details" / "running").mkdir(exist_ok=True)
    task.rename(run / "details" / "running" / task.name)
    lines = index(exported(run, tmp_path / "atif", "atif"))

    assert ("t1", 1) in [(line["task_id"], line["attempt"]) for line in lines if line["file"]]


def test_runs_of_the_peer_are_read_too(tmp_path: Path) -> None:
    found = index(exported(PEER / "k3avg", tmp_path / "atif", "atif"))

    assert len(found) == 9
    assert {line["fault"] for line in found} == {"no trajectory"}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"schema_version": "ATIF-v1.7"}, "schema_version"),
        ({"steps": []}, "steps"),
        ({"unknown": 1}, "unknown key unknown"),
        ({"agent": {"name": "a"}}, "here.agent.version: version is required"),
        ({"steps": [{"step_id": 2, "source": "user", "message": ""}]}, "numbered from 1"),
        ({"steps": [{"step_id": 1, "source": "user", "message": "", "metrics": {}}]}, "agent's"),
        ({"steps": [{"step_id": 1, "source": "user", "message": 1}]}, "steps[0].message"),
        (
            {"steps": [{"step_id": 1, "source": "user", "message": "", "timestamp": "2026-13-01"}]},
            "month must be in 1..12",
        ),
        (
            {
                "steps": [
                    {
                        "step_id": 1,
                        "source": "agent",
                        "message": "",
                        "observation": {"results": [{"source_call_id": "c"}]},
                    }
                ]
            },
            "'c' is no call of step 1",
        ),
    ],
)
def test_what_is_no_trajectory_is_refused_by_name(change: dict[str, Any], fault: str) -> None:
    whole = {
        "schema_version": "ATIF-v1.8",
        "agent": {"name": "a", "version": "1"},
        "steps": [{"step_id": 1, "source": "user", "message": "hello"}],
    }
    assert checked_atif(whole, source="here") is whole
    with pytest.raises(RecordCorrupt, match="here") as caught:
        checked_atif({**whole, **change}, source="here")

    assert fault in str(caught.value)
