"""The journal of open sandboxes: there before they are, gone when they are (formats.md 2.13)."""

import json
import os
import subprocess
import sys

import pytest
import trio

from agentcompass.store.atomic import Disk
from agentcompass.store.owner import is_alive, this_process
from agentcompass.store.resources import ResourceFile, read_resources, warn_of_left_overs


def entry(folder, **more) -> ResourceFile:
    return ResourceFile(
        run_directory=folder,
        provider="docker",
        task_id="t",
        attempt=2,
        disk=Disk(),
        limiter=trio.CapacityLimiter(1),
        **more,
    )


async def test_an_entry_has_the_fields_of_the_format_and_follows_its_states(tmp_path):
    made = entry(tmp_path)
    assert not (tmp_path / ".env-resources").exists()

    await made.opened({"container": "c"})
    record = json.loads(made.path.read_text())

    assert made.path == tmp_path / ".env-resources" / f"{made.id}.json"
    assert record["schema_version"] == "agentcompass.environment_resource.v1"
    assert (record["provider"], record["state"]) == ("docker", "active")
    assert (record["task_id"], record["attempt"]) == ("t", 2)
    assert record["close_params"] == {"container": "c"}
    assert record["created_at"] <= record["updated_at"]

    await made.releasing()
    assert json.loads(made.path.read_text())["state"] == "releasing"
    await made.release_failed("why")
    assert json.loads(made.path.read_text())["error"] == "why"
    await made.released()
    assert not (tmp_path / ".env-resources").exists()


async def test_entries_are_found_at_any_depth_but_not_among_artifacts(tmp_path):
    await entry(tmp_path / "a/b/run1").opened({})
    await entry(tmp_path / "a/run2").opened({})
    await entry(tmp_path / "a/run2/details/normal/t/artifacts").opened({})

    found = [path.parent.parent.name for path, _ in read_resources(tmp_path)]

    assert sorted(found) == ["run1", "run2"]


async def test_a_broken_entry_is_said_and_costs_only_itself(tmp_path, caplog):
    made = entry(tmp_path)
    await made.opened({})
    (made.path.parent / "broken.json").write_text("{")
    (made.path.parent / "other.json").write_text('{"schema_version": "x"}')
    (made.path.parent / "list.json").write_text("[]")
    (made.path.parent / "bytes.json").write_bytes(b"\xff\x00")
    whole = json.loads(made.path.read_text())
    for field in ("provider", "owner", "close_params"):
        (made.path.parent / f"{field}.json").write_text(json.dumps({**whole, field: 5}))

    assert [path for path, _ in read_resources(tmp_path)] == [made.path]
    warn_of_left_overs(tmp_path)
    for name in ("broken", "other", "list", "bytes", "provider", "owner", "close_params"):
        assert f"{name}.json" in caplog.text
    assert "may be deleted" in caplog.text


async def test_what_a_live_process_has_open_is_not_called_left_over(tmp_path, caplog):
    await entry(tmp_path / "mine").opened({})
    warn_of_left_overs(tmp_path)
    assert caplog.text == ""

    await entry(tmp_path / "theirs", owner=this_process().replace("/", "/9", 1)).opened({})
    warn_of_left_overs(tmp_path)
    assert "1 environments of earlier runs" in caplog.text


def test_a_process_is_alive_until_it_ends_and_unknown_elsewhere():
    code = "from agentcompass.store.owner import this_process; print(this_process())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert is_alive(this_process()) is True
    assert is_alive(done.stdout.strip()) is False
    assert is_alive(f"elsewhere/{os.getpid()}/x") is None


def test_a_dead_process_that_nobody_waited_for_is_not_alive():
    code = "from agentcompass.store.owner import this_process; print(this_process(), flush=True)"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    owner, rest = process.stdout.readline().strip(), process.stdout.read()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

    assert rest == ""
    assert is_alive(owner) is False
    process.communicate()


def test_a_process_of_another_machine_or_pid_namespace_of_the_same_host_name_is_unknown():
    """Fails where its number is looked up here: then what a live run uses looks left over."""
    host, pid, started = this_process().split("/")
    machine, boot, namespace, ticks = started.split(".")

    assert is_alive(f"{host}/{pid}/{machine}.{boot}.{int(namespace) + 1}.{ticks}") is None
    assert is_alive(f"{host}/{pid}/another.00000000.{namespace}.{ticks}") is None
    assert is_alive(f"{host}/{pid}/00000000.{namespace}.{ticks}") is None
    assert is_alive(f"{host}/{pid}/{machine}.{boot}.{namespace}.{ticks}1") is False


def test_no_process_of_an_earlier_boot_of_this_machine_runs(monkeypatch):
    monkeypatch.setattr("agentcompass.store.owner._machine", lambda: "0a0b0c0d")
    host, pid, started = this_process().split("/")
    earlier = f"{host}/{pid}/0a0b0c0d.00000000.{started.split('.')[2]}.1"

    assert is_alive(earlier) is False
    assert is_alive(earlier.replace(host, f"not-{host}", 1)) is None
    monkeypatch.setattr("agentcompass.store.owner._machine", lambda: "")
    assert is_alive(earlier.replace("0a0b0c0d", "")) is None


@pytest.mark.parametrize("owner", ["", "x", "x/y", "//", "x/1/"])
def test_an_owner_that_is_none_is_unknown(owner):
    assert is_alive(owner) is None
