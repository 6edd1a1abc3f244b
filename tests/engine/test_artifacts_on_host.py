"""Artifacts of real sessions: whatever an agent leaves, nothing outside is read or written."""

from pathlib import Path
from typing import Any

import pytest

from tests.ordinary_user import ordinary_user
from tests.whole_runs import Ran, run


@pytest.fixture(autouse=True)
def no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


async def collected(folder: Path, script: str, **settings: Any) -> Ran:
    """Run a task whose solution is `script` and whose artifact is the folder /app/out."""
    task = {"solution/solve.sh": script, "task.toml": 'artifacts = ["/app/out"]\n'}
    return await run(folder, {"t": task}, **settings)


def artifacts(ran: Ran) -> Path:
    [folder] = ran.directory.glob("details/*/*/attempt-1/artifacts/app/out")
    return folder


async def test_special_files_are_passed_over_and_the_rest_is_kept(tmp_path: Path) -> None:
    """cases.md 45."""
    ran = await collected(
        tmp_path,
        "mkdir -p out/sub; cd out; mkfifo pipe; ln -s /nowhere dangling; echo kept > file\n"
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"socket\")'\n"
        "echo run > sub/tool; chmod 750 sub/tool\n",
    )
    folder = artifacts(ran)
    [_, entry] = ran.attempts["t"]["artifacts"]["declared_artifacts"]["entries"]
    [issue] = ran.attempts["t"]["issues"]

    assert ran.status == "completed"
    assert (issue["severity"], issue["phase"]) == ("warning", "collect")
    assert issue["code"] == "special_files_skipped"
    assert issue["message"].endswith(": 2: /app/out/pipe, /app/out/socket")
    assert sorted(path.name for path in folder.iterdir()) == ["dangling", "file", "sub"]
    assert (folder / "sub" / "tool").stat().st_mode & 0o777 == 0o750
    assert (entry["status"], entry["file_count"], entry["size_bytes"]) == ("collected", 2, 9)


async def test_links_that_lead_out_are_kept_as_links(tmp_path: Path) -> None:
    """cases.md 46."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("not for the record")
    ran = await collected(
        tmp_path,
        f"mkdir out; cd out; ln -s {outside} away; ln -s ../../../.. up; echo 1 > A; echo 2 > a\n"
        f"ln {outside}/secret hard || true; ln -s {outside}/new through; echo 3 > ok\n",
    )
    folder = artifacts(ran)

    assert ran.status == "completed"
    assert (folder / "away").readlink() == outside
    assert str((folder / "up").readlink()) == "../../../.."
    assert [(folder / name).read_text() for name in ("A", "a", "ok")] == ["1\n", "2\n", "3\n"]
    assert [path.name for path in outside.iterdir()] == ["secret"]


@pytest.mark.parametrize("script", ["ln -s {} out", "ln -s {} link; ln -s link/sub out"])
async def test_an_artifact_that_leads_out_by_a_link_is_refused(tmp_path: Path, script: str) -> None:
    """cases.md 46."""
    outside = tmp_path / "outside"
    (outside / "sub").mkdir(parents=True)
    (outside / "sub" / "secret").touch()
    ran = await collected(tmp_path, script.format(outside))

    assert ran.issues("t") == [("fatal", "collect", "environment_failed")]
    assert "leads out of the session by a link" in ran.attempts["t"]["issues"][0]["message"]
    assert not list(ran.directory.rglob("secret"))


@pytest.mark.parametrize(
    ("limits", "script"),
    [
        ({"max_mb": 1}, "mkdir out; head -c 1200000 /dev/zero > out/big"),
        ({"max_files": 20}, "mkdir out; cd out; seq 30 | xargs touch"),
        ({"max_mb": 1000}, "mkdir out; truncate --size 1T out/sparse"),
    ],
)
async def test_too_many_artifacts_void_their_task_alone(
    tmp_path: Path, limits: dict[str, int], script: str
) -> None:
    """cases.md 45."""
    ran = await run(
        tmp_path,
        {
            "big": {"solution/solve.sh": script, "task.toml": 'artifacts = ["/app/out"]\n'},
            "small": {"solution/solve.sh": "echo > out", "task.toml": 'artifacts = ["/app/out"]\n'},
        },
        execution_params={"artifact_limits": limits},
    )

    assert ran.issues("big") == [("fatal", "collect", "artifact_over_budget")]
    assert ran.issues("small") == []


async def test_what_a_task_excludes_is_not_collected(tmp_path: Path) -> None:
    task = {
        "solution/solve.sh": "mkdir -p out/cache; cd out; touch a a.log cache/b\n",
        "task.toml": 'artifacts = [{source = "/app/out", exclude = ["*.log", "cache"]}]\n',
    }
    ran = await run(tmp_path, {"t": task})

    assert [path.name for path in artifacts(ran).iterdir()] == ["a"]
    assert ran.issues("t") == []


async def test_what_its_owner_may_not_read_reaches_the_verifier_with_its_mode(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """cases.md 45."""
    with ordinary_user() as folder:
        monkeypatch.chdir(folder)
        for name in ("XDG_CONFIG_HOME", "HOME"):
            monkeypatch.setenv(name, str(folder))
        ran = await collected(
            folder,
            "mkdir -p out/closed; echo inside > out/closed/file; echo denied > out/file\n"
            "chmod 000 out/closed/file out/closed out/file\n",
            environment_params={"evaluation_mode": "fresh"},
        )
        monkeypatch.chdir("/")
        [_, entry] = ran.attempts["t"]["artifacts"]["declared_artifacts"]["entries"]

        assert ran.status == "completed"
        assert (entry["status"], entry["file_count"]) == ("collected", 2)
        for name in ("file", "closed"):
            assert (artifacts(ran) / name).stat().st_mode & 0o777 == 0


async def test_a_secret_in_an_artifact_stays_and_is_said(tmp_path: Path) -> None:
    """decisions.md: downloaded artifacts keep their bytes."""
    key = "a-key-that-nobody-may-see"
    ran = await collected(
        tmp_path,
        f"mkdir out; echo nothing > out/a; echo key={key} | tee out/b out/c\n",
        model_api_key=key,
    )
    [issue] = ran.attempts["t"]["issues"]

    assert ran.issues("t") == [("warning", "collect", "secret_in_artifact")]
    assert issue["message"].endswith(": 2: app/out/b, app/out/c")
    assert (artifacts(ran) / "b").read_text() == f"key={key}\n"


async def test_two_artifacts_in_one_place_are_their_tasks_fault_before_it_runs(
    tmp_path: Path,
) -> None:
    toml = 'artifacts = ["/app/a", {source = "/app/b", destination = "app/a"}]\n'
    ran = await run(
        tmp_path,
        {"mixed": {"task.toml": toml, "solution/solve.sh": "touch ran"}, "fine": {}},
    )

    assert ran.issues("mixed") == [("fatal", "setup", "task_invalid")]
    assert ran.issues("fine") == []


async def test_an_agents_start_file_of_bash_has_no_say_in_the_collection(tmp_path: Path) -> None:
    start = tmp_path / "bashrc"
    ran = await collected(
        tmp_path,
        'echo "cd /; mkdir() { false; }" > "$BASH_ENV"',
        environment_params={"env_variables": {"BASH_ENV": str(start)}},
        execution_params={"artifact_collect": [{"command": "mkdir out; pwd > out/where"}]},
    )

    assert ran.status == "completed"
    assert (artifacts(ran) / "where").read_text().endswith("/app\n")
