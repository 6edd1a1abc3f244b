"""Saved work in real sandboxes: restored into a new verifier and scored without its agent."""

from pathlib import Path
from typing import Any

import pytest

from tests.whole_runs import Ran, run

TOML = 'artifacts = ["/app/out"]\n'


@pytest.fixture(autouse=True)
def no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


async def measure(folder: Path, run_id: str, **settings: Any) -> Ran:
    """Run a task that is scored from what it left, once the file `ready` is there.

    Each run of its solution adds a line to the file `runs`.
    """
    task = {
        "task.toml": TOML,
        "solution/solve.sh": f"echo run >> {folder}/runs; mkdir out; echo 42 > out/answer\n",
        "tests/test.sh": (
            f"[ -e {folder}/ready ] || exit 3\n"
            '[ "$(cat out/answer)" = 42 ] && echo 1 > "$LOGS_DIR/verifier/reward.txt"\n'
        ),
    }
    given = {"environment_params": {"evaluation_mode": "fresh"}, "run_id": run_id, **settings}
    return await run(folder, {"t": task}, **given)


def agent_runs(folder: Path) -> int:
    return len((folder / "runs").read_text().splitlines())


async def test_work_without_a_verdict_is_scored_in_a_new_verifier(tmp_path: Path) -> None:
    """cases.md 36."""
    first = await measure(tmp_path, "first")
    assert first.attempts["t"]["metrics"] == {}
    (tmp_path / "ready").touch()
    second = await measure(tmp_path, "second", reuse=True)
    assert second.attempts["t"]["metrics"] == {"correct": True}
    assert agent_runs(tmp_path) == 1
    assert second.result["metadata"]["reuse_counts"] == {
        "reused": 0,
        "resumed": 1,
        "executed": 0,
    }


async def test_work_whose_files_have_changed_is_done_again(tmp_path: Path) -> None:
    first = await measure(tmp_path, "first")
    [answer] = first.directory.glob("details/*/*/attempt-1/artifacts/app/out/answer")
    answer.write_text("43\n")
    (tmp_path / "ready").touch()
    second = await measure(tmp_path, "second", reuse=True)
    assert second.attempts["t"]["metrics"] == {"correct": True}
    assert agent_runs(tmp_path) == 2
    assert "has changed" in (second.directory / "run.log").read_text()


async def test_work_that_does_not_cover_a_new_artifact_is_done_again(tmp_path: Path) -> None:
    await measure(tmp_path, "first")
    (tmp_path / "ready").touch()
    wanted = ["/app/out", "/app/other"]
    second = await measure(tmp_path, "second", reuse=True, execution_params={"artifacts": wanted})
    assert agent_runs(tmp_path) == 2
    assert "/app/other was not collected" in (second.directory / "run.log").read_text()


async def test_no_checkpoint_resume_runs_the_agent_again(tmp_path: Path) -> None:
    await measure(tmp_path, "first")
    (tmp_path / "ready").touch()
    second = await measure(tmp_path, "second", reuse=True, checkpoint_resume=False)
    assert agent_runs(tmp_path) == 2
    assert second.attempts["t"]["metrics"] == {"correct": True}
