"""`env close`: what may still be in use is not closed with everything else."""

import json

import pytest

from agentcompass.store.owner import this_process
from tests.cli.process import call


@pytest.mark.parametrize(
    ("owner", "told"),
    [
        ("elsewhere/1/x", "cannot be known"),
        ("", "cannot be known"),
        (this_process(), "its run is at work"),
    ],
    ids=["another machine", "no owner", "this process"],
)
def test_what_may_be_in_use_is_left_open_by_all_and_named(tmp_path, owner, told):
    folder = tmp_path / "results/run/.env-resources"
    folder.mkdir(parents=True)
    entry = {
        "schema_version": "agentcompass.environment_resource.v1",
        "provider": "docker",
        "state": "active",
        "task_id": "t",
        "attempt": 1,
        "created_at": "2026-01-01T00:00:00+00:00",
        "owner": owner,
        "close_params": {"container": "agentcompass-none", "host": "unix:///nowhere.sock"},
    }
    (folder / "one.json").write_text(json.dumps(entry))

    closed = call("env", "close", "results", "--all", toys=tmp_path, cwd=tmp_path)

    assert closed.code == 1
    assert told in closed.err
    assert "--id one" in closed.err
    assert json.loads((folder / "one.json").read_text()) == entry


def test_a_damaged_entry_is_named_and_in_nobodys_way(tmp_path):
    folder = tmp_path / "results/run/.env-resources"
    folder.mkdir(parents=True)
    (folder / "one.json").write_text('{"schema_version": "agentcompass.environ')

    listed = call("env", "list", "results", toys=tmp_path, cwd=tmp_path)
    closed = call("env", "close", "results", "--all", toys=tmp_path, cwd=tmp_path)

    assert (listed.code, closed.code) == (0, 0)
    assert json.loads(listed.out) == []
    for ended in (listed, closed):
        assert "one.json" in ended.err
        assert "may be deleted" in ended.err


def test_closing_all_where_nothing_is_open_says_so(tmp_path):
    (tmp_path / "results").mkdir()
    closed = call("env", "close", "results", "--all", toys=tmp_path, cwd=tmp_path)

    assert closed.code == 0
    assert "nothing to close" in closed.err
