"""Artifacts of real sessions: whatever an agent leaves, nothing outside is read or written."""

from pathlib import Path
from typing import Any

import pytest

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

    assert ran.status == "completed"
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
