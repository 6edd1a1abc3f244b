"""A copy is whole or not there, says what its run says, and leaves the run alone."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentcompass.errors import AgentCompassError, UsageError
from agentcompass.records.request import AttemptPlan
from agentcompass.store.layout import RunLayout
from tests.exporting.told_runs import exported
from tests.fakes import Script, Scripted, ScriptedBenchmark, World
from tests.summarizing.runs import run_on_disk, summarized, tree

TREE = {"overall": {"aggregation": "weighted", "children": {"a": {"weight": 3}, "b": {}}}}


def world(**faults: str) -> World:
    scripts = {"t1": Script(), "t2": Script(verdict=False), "é/3": Script(**faults)}
    return World(
        {
            name: Scripted(task_id=name, scripts={1: [script]}, category="ab"[name == "t2"])
            for name, script in scripts.items()
        }
    )


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return run_on_disk(tmp_path / "runs", world(scoring="error"))


def task_of(run: Path) -> Path:
    return RunLayout(run).task("t1", "normal").directory


def change(path: Path, **fields: Any) -> None:
    record = json.loads(path.read_text())
    record.update(fields)
    path.write_text(json.dumps({k: v for k, v in record.items() if v != "absent"}))


@pytest.mark.parametrize("fault", [{}, {"scoring": "error"}, {"agent": "fatal"}])
@pytest.mark.parametrize(
    ("attempts", "settings"),
    [
        (AttemptPlan(), {}),
        (AttemptPlan(k=3, strategy="pass"), {}),
        (AttemptPlan(k=2), {"aggregation_mode": "category_mean"}),
        (AttemptPlan(), {"category_hierarchy": TREE}),
    ],
)
def test_our_summary_of_the_copy_is_that_of_the_run(
    tmp_path: Path, fault: dict[str, str], attempts: AttemptPlan, settings: dict[str, Any]
) -> None:
    """Fails where translating takes away what our summary needs."""
    made = world(**fault)
    benchmark = ScriptedBenchmark(made, **settings)
    run = run_on_disk(tmp_path / "runs", made, benchmark=benchmark, attempts=attempts)
    before = tree(run)
    exported(run, tmp_path / "copy", "peer")

    assert summarized(tmp_path / "copy")["markdown"] == (run / "summary.md").read_text()
    assert tree(run) == before


def test_everything_is_copied_and_only_the_translated_records_differ(
    run: Path, tmp_path: Path
) -> None:
    artifacts = task_of(run) / "attempt-1" / "artifacts"
    artifacts.mkdir()
    (artifacts / ".run.tmp").write_bytes(b"\xff\0")
    (artifacts / ".run.tmp").chmod(0o751)
    (artifacts / "link").symlink_to("nowhere")
    (artifacts / "folder").symlink_to(tmp_path)
    exported(run, tmp_path / "new" / "copy", "peer")
    ours, copy = tree(run), tree(tmp_path / "new" / "copy")

    assert copy.keys() == ours.keys()
    assert {name for name in ours if copy[name] != ours[name]} <= {
        *("run_info.json", "params.json", "metrics.json", "progress.jsonl"),
    }
    copied = tmp_path / "new" / "copy" / artifacts.relative_to(run)
    assert (copied / ".run.tmp").stat().st_mode & 0o777 == 0o751
    assert (copied / "link").readlink() == Path("nowhere")
    assert (copied / "folder").readlink() == tmp_path
    assert list((tmp_path / "new").iterdir()) == [tmp_path / "new" / "copy"]


def test_what_is_no_record_of_the_run_is_not_copied(run: Path, tmp_path: Path) -> None:
    (run / ".run_info.json.1-1.tmp").write_text("{")
    (run / ".env-resources").mkdir()
    (run / ".env-resources" / "r.json").write_text("{}")
    (run / "link").symlink_to("/etc/hostname")
    left = run / "details" / "running" / "t--0"
    left.mkdir(parents=True)
    exported(run, tmp_path / "copy", "peer")

    names = {
        path.relative_to(tmp_path / "copy").parts[0] for path in (tmp_path / "copy").rglob("*")
    }
    assert not {name for name in names if name.startswith(".") or name == "link"}
    assert not (tmp_path / "copy" / "details" / "running").exists()


def test_the_plans_among_the_events_are_translated_and_a_torn_line_is_kept(
    run: Path, tmp_path: Path
) -> None:
    torn = b'{"event": "execution_plan_resolved", "payl'
    events = run / "progress.jsonl"
    with events.open("ab") as file:
        file.write(torn)
    exported(run, tmp_path / "copy", "peer")
    copied = (tmp_path / "copy" / "progress.jsonl").read_bytes()

    assert b'"verifier_network_policy"' in events.read_bytes()
    assert b'"verifier_network_policy"' not in copied
    assert copied.count(b'"evaluation_network_policy"') == 3
    assert copied.endswith(torn)
    assert copied.count(b"\n") == events.read_bytes().count(b"\n")


def corrupt(run: Path) -> None:
    (task_of(run) / "attempt-1" / "result.json").write_text("{")


def unlike_its_run(run: Path) -> None:
    change(task_of(run) / "task.json", attempt_plan={"k": 2, "strategy": "avg"})


REFUSED: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no run": (lambda run: (run / "run_info.json").unlink(), "is not a run directory"),
    "an earlier schema": (
        lambda run: change(run / "run_info.json", schema_version="agentcompass.run_info.v2"),
        "the peer cannot summarize agentcompass.run_info.v2",
    ),
    "killed": (lambda run: change(run / "run_info.json", status="absent"), "the run has not ended"),
    "timed out": (
        lambda run: change(run / "run_info.json", status="timed_out"),
        "the run timed out",
    ),
    "cancelled": (
        lambda run: change(run / "run_info.json", status="cancelled"),
        "the run was cancelled",
    ),
    "a corrupt task": (corrupt, "the copy would lack a task: "),
    "an unfit task": (unlike_its_run, "task 't1' has k=2"),
    "an unfinished task": (lambda run: shutil.rmtree(task_of(run)), "'t1' did not finish"),
    "no task": (
        lambda run: (shutil.rmtree(run / "details"), change(run / "run_info.json", task_ids=[])),
        "none has finished",
    ),
    "broken parameters": (lambda run: (run / "params.json").write_text("[]"), "expected an object"),
    "a broken report": (lambda run: (run / "metrics.json").write_text("{}"), "k is required"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_would_give_other_numbers_is_refused_in_one_line(
    run: Path, tmp_path: Path, case: str
) -> None:
    spoil, message = REFUSED[case]
    spoil(run)
    with pytest.raises(AgentCompassError) as caught:
        exported(run, tmp_path / "copies" / "copy", "peer")

    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.glob("copies/*"))


def test_a_task_that_the_peer_cannot_name_is_refused(tmp_path: Path) -> None:
    odd = World({"\ud83d": Scripted(task_id="\ud83d", scripts={1: [Script()]})})
    run = run_on_disk(tmp_path / "runs", odd)
    with pytest.raises(UsageError, match=r"the peer cannot name '\\ud83d'"):
        exported(run, tmp_path / "copy", "peer")
