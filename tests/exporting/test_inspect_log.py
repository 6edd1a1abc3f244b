"""A log for Inspect says what the run says, in either form; PyPI's own reads it in tests/peer."""

import json
import math
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from agentcompass.errors import UsageError
from agentcompass.exporting.inspect_sample import sample_id
from agentcompass.records.request import AttemptPlan, Budget
from agentcompass.store.layout import RunLayout
from tests.exporting.told_runs import (
    FINISHED,
    HALF,
    STARTED,
    exported,
    inspect_log,
    told,
    told_run,
)
from tests.fakes import Script
from tests.summarizing.runs import summarized, tree

PEER = Path(__file__).parents[2] / "fixtures" / "peer"
SECRET = "planted-secret-value"


def sample(log: dict[str, Any], task: str, epoch: int = 1) -> dict[str, Any]:
    [found] = [one for one in log["samples"] if (one["id"], one["epoch"]) == (task, epoch)]
    return found


def values(log: dict[str, Any]) -> dict[str, Any]:
    """What the log says of the metrics, by the names of our series."""
    return {
        f"{score['name']}.{name}": metric["value"]
        for score in log["results"]["scores"]
        for name, metric in score["metrics"].items()
    }


@pytest.fixture
def run(tmp_path: Path) -> Path:
    scripts = {"t1": Script(), "t2": Script(verdict=False), "é/3": Script(scoring="error")}
    return told_run(tmp_path / "runs", scripts, run_timeout_seconds=900.5, max_retries=1)


@pytest.mark.parametrize("suffix", [".eval", ".json"])
def test_the_run_as_a_whole(run: Path, tmp_path: Path, suffix: str) -> None:
    before = tree(run)
    log = inspect_log(run, tmp_path / f"log{suffix}")
    info = json.loads((run / "run_info.json").read_text())

    assert (log["version"], log["status"]) == (2, "success")
    spec = log["eval"]
    assert (spec["task"], spec["model"], spec["solver"]) == ("scripted", "none", "scripted")
    assert (spec["run_id"], spec["created"]) == (info["run_id"], info["started_at"])
    assert spec["dataset"]["sample_ids"] == ["t1", "t2", "é/3"]
    assert spec["config"]["epochs"] == 1
    assert (spec["config"]["time_limit"], spec["config"]["retry_on_error"]) == (901, 1)
    assert spec["metadata"]["agentcompass_request"]["benchmark"] == {"id": "scripted"}
    assert log["stats"]["completed_at"] == info["finished_at"]
    assert log["stats"]["model_usage"]["none"] == {
        "input_tokens": 120,
        "output_tokens": 21,
        "total_tokens": 321,
        "input_tokens_cache_read": 180,
        "total_cost": 1.5,
    }
    assert tree(run) == before


def test_both_forms_and_a_second_export_say_the_same(run: Path, tmp_path: Path) -> None:
    one, two = (inspect_log(run, tmp_path / f"log{suffix}") for suffix in (".eval", ".json"))
    assert one == two

    inspect_log(run, tmp_path / "again.eval")
    assert (tmp_path / "again.eval").read_bytes() == (tmp_path / "log.eval").read_bytes()


def test_an_attempt_is_a_sample(run: Path, tmp_path: Path) -> None:
    found = sample(inspect_log(run, tmp_path / "log.json"), "t1")

    assert (found["input"], found["target"]) == ("Mend it.", "")
    assert found["messages"] == [
        {"role": "system", "content": "Be careful.", "source": "input"},
        {"role": "user", "content": "Mend it.", "source": "input"},
        {
            "role": "assistant",
            "content": [
                {"type": "reasoning", "reasoning": "hm"},
                {"type": "text", "text": "I look."},
            ],
            "source": "generate",
            "tool_calls": [
                {
                    "id": "c1",
                    "function": "bash",
                    "type": "function",
                    "arguments": {"command": "ls"},
                }
            ],
        },
        {"role": "tool", "content": "a b", "tool_call_id": "c1", "function": "bash"},
        {"role": "user", "content": "go on"},
    ]
    assert found["output"]["completion"] == "done"
    assert found["output"]["choices"][0]["stop_reason"] == "tool_calls"
    assert found["scores"] == {"correct": {"value": True, "answer": "done"}}
    assert (found["started_at"], found["completed_at"]) == (STARTED, FINISHED)
    assert found["total_time"] == 2.5
    assert (found["error"], found["limit"]) == (None, None)
    assert found["metadata"]["issues"] == []


def test_a_fault_is_the_samples_and_leaves_the_score_out(run: Path, tmp_path: Path) -> None:
    log = inspect_log(run, tmp_path / "log.eval")
    found = sample(log, "é/3")

    assert found["scores"] == {}
    assert found["error"]["message"] == "evaluate evaluate_failed: EvaluationFailed: no verdict"
    assert found["metadata"]["issues"][0]["severity"] == "error"
    results = log["results"]
    assert (results["total_samples"], results["logged_samples"]) == (3, 3)
    assert results["completed_samples"] == 2


@pytest.mark.parametrize(
    ("attempts", "name"),
    [
        (AttemptPlan(), "native@1"),
        (AttemptPlan(k=3), "avg@3"),
        (AttemptPlan(k=3, strategy="pass"), "pass@3"),
    ],
)
@pytest.mark.parametrize("agent", ["", "error", "fatal"])
def test_the_metrics_are_those_of_the_run(
    tmp_path: Path, attempts: AttemptPlan, name: str, agent: str
) -> None:
    scripts = {
        "t1": [Script(verdict=False), Script(), Script()],
        "t2": Script(agent=agent),
        "t3": Script(scoring="error"),
    }
    run = told_run(tmp_path / "runs", scripts, attempts=attempts)
    log = inspect_log(run, tmp_path / "log.eval")
    report = summarized(run)["metrics"]

    official = {f"{s['series_id']}": s["value"] for s in report["series"] if agent != "fatal"}
    found = values(log)
    assert {key: found[key] for key in official} == official
    assert log["status"] == ("error" if agent == "fatal" else "success")
    assert log["results"]["headline"] == {"scorer": "correct", "metric": name}
    assert [score["metadata"] for score in log["results"]["scores"]] == report["series"]
    if agent == "fatal":
        assert log["error"]["message"] == "1 task has a FATAL issue: no official score"
        assert {key.rpartition(".")[2] for key in found} == {"reference"}


def test_each_attempt_is_an_epoch(tmp_path: Path) -> None:
    run = told_run(tmp_path / "runs", {"t1": Script(), "t2": Script()}, attempts=AttemptPlan(k=3))
    log = inspect_log(run, tmp_path / "log.eval")

    assert {(one["id"], one["epoch"]) for one in log["samples"]} == {
        (task, epoch) for task in ("t1", "t2") for epoch in (1, 2, 3)
    }
    assert len({one["uuid"] for one in log["samples"]}) == 6
    assert log["eval"]["config"]["epochs_reducer"] == ["mean"]


def test_a_deadline_is_a_limit_and_no_fault(tmp_path: Path) -> None:
    run = told_run(
        tmp_path / "runs",
        {"t1": Script(run_seconds=60)},
        run_timeout_seconds=10.0,
        run_timer_compensation_seconds=0.0,
    )
    found = sample(inspect_log(run, tmp_path / "log.eval"), "t1")

    assert found["error"] is None
    assert (found["limit"]["type"], found["limit"]["limit"]) == ("time", 10.0)
    assert "run_harness timeout" in found["limit"]["reason"]
    assert found["scores"]["correct"]["value"] is True


@pytest.mark.parametrize(
    ("status", "shown", "said"),
    [
        ("timed_out", "error", "timed out"),
        ("cancelled", "cancelled", None),
        (None, "started", None),
    ],
)
def test_a_run_that_was_cut_short_says_so(
    run: Path, tmp_path: Path, status: str | None, shown: str, said: str | None
) -> None:
    info = json.loads((run / "run_info.json").read_text())
    info.pop("finished_at")
    info.pop("status")
    kept = {**info, "task_ids": [*info["task_ids"], "t4"]}
    (run / "run_info.json").write_text(
        json.dumps(kept if status is None else {**kept, "status": status})
    )
    log = inspect_log(run, tmp_path / "log.eval")

    assert (log["status"], log["stats"]["completed_at"]) == (shown, "")
    assert log.get("error", {}).get("message") == said
    assert (log["results"]["total_samples"], log["results"]["logged_samples"]) == (4, 3)
    assert values(log)["correct.native@1"] == summarized(run)["metrics"]["series"][0]["value"]


def test_a_damaged_task_is_named_and_the_others_are_there(run: Path, tmp_path: Path) -> None:
    path = RunLayout(run).task("t1", "normal").attempt(1).result
    path.write_text("{")
    log = inspect_log(run, tmp_path / "log.eval")

    assert {one["id"] for one in log["samples"]} == {"t2", "é/3"}
    [fault] = log["eval"]["metadata"]["left_out"]
    assert "result.json: not readable as JSON" in fault


ODD = [HALF, r"\ud83d", "a\0b", "../up", "x" * 300, "x" * 299 + "y", "A", "a"]


@pytest.mark.parametrize("suffix", [".eval", ".json"])
def test_odd_ids_and_texts_stay_apart_and_valid(tmp_path: Path, suffix: str) -> None:
    """Lone halves of surrogate pairs are cases.md, row 24."""
    deep: Any = "end"
    for _ in range(150):
        deep = {"a": deep}
    trajectories = {HALF: {**told(f"half {HALF}"), "started_at": "2026-99-99"}}
    tasks = {name: Script() for name in ODD if name != r"\ud83d"}
    run = told_run(tmp_path / "runs", tasks, trajectories=trajectories)
    path = RunLayout(run).task("A", "normal").attempt(1).result
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "meta": {"deep": deep, "long": 10**30, HALF: HALF}}))
    log = inspect_log(run, tmp_path / f"log{suffix}")

    ids = [one["id"] for one in log["samples"]]
    assert sorted(ids) == sorted(log["eval"]["dataset"]["sample_ids"])
    assert len(set(ids)) == len(tasks)
    assert not any("\0" in one or len(one) > 270 for one in ids)
    json.dumps(log, ensure_ascii=False).encode()
    assert depth(log) < 150
    assert sample(log, "A")["metadata"]["meta"]["long"] == 10**30
    assert sample(log, sample_id(HALF))["started_at"] is None


def depth(value: Any) -> int:
    items = value.values() if isinstance(value, dict) else value
    return 1 + max(map(depth, items), default=0) if isinstance(value, dict | list) else 0


def test_known_secrets_are_masked(tmp_path: Path) -> None:
    trajectories = {"t1": told(f"I use {SECRET}.")}
    run = told_run(tmp_path / "runs", {"t1": Script()}, trajectories=trajectories)
    info = json.loads((run / "run_info.json").read_text())
    info["request"]["model"] |= {"params": {"x": SECRET}, "apiKey": "another-secret"}
    info |= {"status": "failed", "error": f"cannot reach {SECRET}"}
    (run / "run_info.json").write_text(json.dumps(info))
    path = RunLayout(run).task("t1", "normal").attempt(1).result
    path.write_text(json.dumps({**json.loads(path.read_text()), "final_answer": SECRET}))
    log = inspect_log(run, tmp_path / "log.json", SECRET)
    text = (tmp_path / "log.json").read_text()

    assert SECRET not in text
    assert "another-secret" not in text
    assert log["error"]["message"] == "cannot reach ********"


def test_a_folder_gets_a_file_as_inspect_names_it(run: Path, tmp_path: Path) -> None:
    written = exported(run, tmp_path / "logs", "inspect")

    assert [*(tmp_path / "logs").iterdir()] == [written]
    stamp, task, rest = written.name.split("_")
    assert task == "scripted"
    assert stamp[4] == stamp[7] == "-"
    assert rest.endswith(".eval")


def test_what_a_list_of_samples_shows_is_short(tmp_path: Path) -> None:
    long = told()
    long["steps"][0]["user_content"] = "x" * 5000
    run = told_run(tmp_path / "runs", {"t1": Script()}, trajectories={"t1": long})
    written = exported(run, tmp_path / "log.eval", "inspect")
    with ZipFile(written) as archive:
        [row] = json.loads(archive.read("summaries.json"))

    assert len(row["input"]) == 1000
    assert row["message_count"] == 5
    assert row["scores"]["correct"]["value"] is True


def test_budgets_are_limits(tmp_path: Path) -> None:
    budget = Budget(max_total_tokens=500, max_cost_usd=2.5)
    run = told_run(tmp_path / "runs", {"t1": Script(), "t2": Script()}, attempt_budget=budget)
    issues = {
        "t1": ("budget_exhausted", "attempt_budget is used up: 512 of 500 tokens"),
        "t2": ("run_budget_exhausted", "run_budget is used up: 2.6 of 2.5 US dollars"),
    }
    for task, (code, message) in issues.items():
        path = RunLayout(run).task(task, "normal").attempt(1).result
        issue = {"severity": "error", "phase": "run", "code": code, "message": message}
        path.write_text(json.dumps({**json.loads(path.read_text()), "issues": [issue]}))
    log = inspect_log(run, tmp_path / "log.eval")

    config = log["eval"]["config"]
    assert (config["token_limit"], config["cost_limit"]) == (500, 2.5)
    limits = {one["id"]: one["limit"] for one in log["samples"]}
    assert {name: (one["type"], one["limit"]) for name, one in limits.items()} == {
        "t1": ("token", 500.0),
        "t2": ("cost", 2.5),
    }


@pytest.mark.parametrize("name", ["error", "fatal", "k3avg", "k3pass", "sigint/r1", "success"])
def test_runs_of_the_peer_give_their_metrics(tmp_path: Path, name: str) -> None:
    log = inspect_log(PEER / name, tmp_path / "log.eval")
    series = summarized(PEER / name)["metrics"]["series"]
    shown = [
        {name: one["value"] for name, one in score["metrics"].items()}
        for score in log["results"]["scores"]
    ]

    assert [sum(found.values()) if found else None for found in shown] == [
        one["value"] if one["reference_value"] is None else one["reference_value"] for one in series
    ]
    assert not any(math.isnan(value) for found in shown for value in found.values())


def test_metrics_that_do_not_fit_are_refused_and_nothing_is_made(run: Path, tmp_path: Path) -> None:
    info = json.loads((run / "run_info.json").read_text())
    info["request"]["execution"]["attempts"] = {"k": "three"}
    (run / "run_info.json").write_text(json.dumps(info))
    with pytest.raises(UsageError, match="attempts") as caught:
        exported(run, tmp_path / "new" / "log.eval", "inspect")

    assert "\n" not in str(caught.value)
    assert {path.name for path in tmp_path.iterdir()} == {"runs"}
