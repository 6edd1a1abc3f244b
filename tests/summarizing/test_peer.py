"""The peer's run directories give the peer's numbers, without its benchmark."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.summarizing.runs import summarized, tree

PEER = Path(__file__).parents[2] / "fixtures" / "peer"
CASES = ("error", "fatal", "k3avg", "k3pass", "success")


def near(value: Any) -> Any:
    """The same numbers up to the last bit, in which the peer's sums differ with their order."""
    if isinstance(value, dict):
        return {key: near(item) for key, item in value.items() if key != "extra"}
    if isinstance(value, list):
        return [near(item) for item in value]
    return pytest.approx(value, rel=1e-12) if isinstance(value, float) else value


@pytest.mark.parametrize("case", CASES)
def test_every_number_of_the_peer_comes_out_again(case: str) -> None:
    """Fails when an undeclared metric is dropped, or a failed evaluation keeps its value."""
    before = tree(PEER / case)
    result = summarized(PEER / case)
    wanted = json.loads((PEER / case / "metrics.json").read_text())

    assert {name: near(part) for name, part in result["metrics"].items() if name != "extra"} == (
        {name: near(part) for name, part in wanted.items() if name != "extra"}
    )
    assert result["metadata"]["left_out"] == []
    assert tree(PEER / case) == before


def test_a_task_without_a_verdict_is_said_to_be_missing() -> None:
    text = summarized(PEER / "error")["markdown"]

    assert "**Evaluated:** 5/6" in text
    assert "| correct    | 0.6000  |" in text
    assert "Counted as failed it is 0.5000, counted as solved 0.6667." in text


def with_info(folder: Path, **fields: Any) -> Path:
    """A copy of a run of the peer whose run_info.json says something else."""
    run = shutil.copytree(PEER / "success", folder / "run")
    info = json.loads((run / "run_info.json").read_text())
    (run / "run_info.json").write_text(json.dumps({**info, **fields}))
    return run


def reported(aggregation: str) -> dict[str, Any]:
    return {"generated_at": "", "report": {"aggregation": aggregation}}


def test_the_aggregation_is_what_was_asked_for_or_else_what_was_reported(tmp_path: Path) -> None:
    request = json.loads((PEER / "success" / "run_info.json").read_text())["request"]
    request["benchmark"]["params"] = {"aggregation_mode": "category_mean"}
    asked = with_info(tmp_path / "a", request=request)
    told = with_info(tmp_path / "b", metric_artifacts=reported("category_mean"))

    assert summarized(asked)["metrics"]["aggregation"] == "category_mean"
    assert summarized(told)["metrics"]["aggregation"] == "category_mean"


def test_an_aggregation_that_only_the_benchmark_can_do_is_not_left_out_in_silence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = with_info(tmp_path, metric_artifacts=reported("ratio_of_sums"))

    assert summarized(run)["metrics"]["aggregation"] == "micro_weighted"
    assert "ratio_of_sums is the benchmark's own aggregation" in caplog.text


def test_what_had_not_finished_is_not_counted_and_that_is_said(tmp_path: Path) -> None:
    """The peer does not record which tasks it selected."""
    run = with_info(tmp_path, status="timed_out")
    task = next(run.glob("details/normal/*"))
    (run / "details" / "running").mkdir()
    task.rename(run / "details" / "running" / task.name)
    result = summarized(run)

    assert result["metadata"]["total_tasks"] == 1
    assert "timed out, and the selected tasks are not on record;" in result["markdown"]


def test_an_earlier_schema_is_read() -> None:
    earlier = PEER.parent / "store" / "earlier"
    result = summarized(earlier)

    assert result["metadata"]["total_tasks"] == 1
    assert result["metadata"]["model"] is None
    assert "**Model:** `unknown`" in result["markdown"]
