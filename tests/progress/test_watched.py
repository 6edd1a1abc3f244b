"""What a run's files tell of it: running, over, dead, or not to be known."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agentcompass.errors import UsageError
from agentcompass.progress.watched import WatchedRun, watched_run
from agentcompass.store.layout import RunLayout
from agentcompass.store.owner import this_process

PEER = Path(__file__).resolve().parents[2] / "fixtures" / "peer"


def ended_process():
    code = "from agentcompass.store.owner import this_process; print(this_process())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def watch(tmp_path):
    def make(info=None, *events):
        if info is not None:
            (tmp_path / "run_info.json").write_text(json.dumps({"run_id": "r", **info}))
        lines = (json.dumps({"run_id": "r", "timestamp": 1.0, **event}) for event in events)
        (tmp_path / "progress.jsonl").write_text("".join(f"{line}\n" for line in lines))
        return looked_at(WatchedRun(RunLayout(tmp_path)))

    return make


def looked_at(run):
    for _ in run.read():
        pass
    return run


@pytest.mark.parametrize("status", ["completed", "failed", "timed_out", "cancelled"])
def test_a_run_with_its_end_on_record_is_over(watch, status):
    assert watch({"status": status, "owner": this_process()}).state == status
    assert watch({}, {"event": "run_finished", "status": status}).state == status


def test_a_run_goes_on_as_long_as_its_process_does(watch):
    assert watch({"owner": this_process()}).state == "running"
    assert watch({"owner": ended_process()}).state == "stale"


@pytest.mark.parametrize("info", [{}, {"owner": "elsewhere/1/x"}, {"owner": 5}, None])
def test_of_a_run_without_an_owner_here_nobody_knows(watch, info):
    assert watch(info).state == "unknown"


def test_an_end_counts_although_the_process_is_gone(watch):
    assert watch({"owner": ended_process(), "status": "failed"}).state == "failed"


def test_a_run_that_ends_is_seen_to_end(watch, tmp_path):
    run = watch({"owner": this_process()}, {"event": "task_started", "task_id": "t"})
    assert list(run.board.running) == ["t"]

    (tmp_path / "new").write_text(json.dumps({"status": "failed", "error": "why"}))
    (tmp_path / "new").replace(tmp_path / "run_info.json")

    assert looked_at(run).state == "failed"
    assert run.error == "why"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"status": 5}', "\x00"])
def test_a_damaged_run_info_is_told_and_the_events_are_read(watch, tmp_path, text):
    (tmp_path / "run_info.json").write_text(text)
    run = watch(None, {"event": "tasks_loaded", "payload": {"total_tasks": 3}})

    assert run.state == "unknown"
    assert run.board.total == 3
    assert bool(run.fault) is (text != '{"status": 5}')


def test_time_stands_still_for_a_run_that_does_not_go_on(watch):
    assert watch({"owner": ended_process()}, {"event": "run_started"}).now() == 1.0
    assert watch({"owner": this_process()}, {"event": "run_started"}).now() > 1e9


def test_what_is_no_run_is_refused_and_a_run_below_it_named(tmp_path):
    with pytest.raises(UsageError, match="there is no such folder"):
        watched_run(tmp_path / "nope")
    with pytest.raises(UsageError, match=r"is not a run directory: it has no run_info\.json$"):
        watched_run(tmp_path)

    (tmp_path / "m_b_h" / "r1").mkdir(parents=True)
    (tmp_path / "m_b_h" / "r1" / "run_info.json").write_text("{}")
    with pytest.raises(UsageError, match=r"the latest run in it is .*r1$"):
        watched_run(tmp_path)


@pytest.mark.parametrize("path", sorted(PEER.rglob("run_info.json")), ids=lambda p: p.parent.name)
def test_runs_of_the_asyncio_implementation_are_told(path):
    run = looked_at(watched_run(path.parent))

    assert run.state in ("completed", "failed", "cancelled")
    assert run.unreadable == 0
