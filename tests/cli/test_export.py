"""`agentcompass export`, and `export_run` from Python."""

import json
import shutil
from pathlib import Path

import pytest
import trio
from asyncclick.testing import CliRunner

from agentcompass import UsageError, async_export_run, export_run
from agentcompass.cli.app import commands

PEER = Path(__file__).parents[2] / "fixtures" / "peer"


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(PEER / "success", tmp_path / "run")

    async def call(*arguments):
        runner = CliRunner(env={"XDG_CONFIG_HOME": str(tmp_path)})
        return await runner.invoke(commands, ["export", *arguments])

    return call


async def test_stdout_names_the_copy(invoke, tmp_path):
    ended = await invoke("run", "--format", "peer", "--output", "copy")

    assert (ended.exit_code, ended.stderr) == (0, "")
    assert ended.stdout == f"Run directory: {tmp_path / 'copy'}\n"
    assert (tmp_path / "copy" / "metrics.json").is_file()


@pytest.mark.parametrize(
    ("form", "output", "found"),
    [
        ("atif", "trajectories", "trajectories"),
        ("inspect", "logs/run.json", "logs/run.json"),
        ("inspect", "run.eval", "run.eval"),
    ],
)
async def test_stdout_names_what_was_written(invoke, tmp_path, form, output, found):
    ended = await invoke("run", "--format", form, "--output", output)

    assert (ended.exit_code, ended.stderr) == (0, "")
    assert ended.stdout == f"Written: {tmp_path / found}\n"
    assert (tmp_path / found).exists()


async def test_secrets_of_the_environment_are_masked(invoke, tmp_path, monkeypatch):
    monkeypatch.setenv("SERVICE_API_KEY", "planted-secret")
    [result] = (tmp_path / "run").glob("details/normal/ok-1*/attempt-1/result.json")
    record = json.loads(result.read_text())
    result.write_text(json.dumps({**record, "final_answer": "planted-secret"}))
    ended = await invoke("run", "--format", "inspect", "--output", "log.json")

    assert ended.exit_code == 0
    assert "planted-secret" not in (tmp_path / "log.json").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["run", "--format", "zip", "--output", "o"],
            "--format: 'zip' is not known; known: peer, atif, inspect",
        ),
        (["run", "--format", "peer", "--output", "run"], "Error: --output: "),
        (["nowhere", "--format", "peer", "--output", "o"], "is not a run directory"),
        (["run", "--output", "o"], "Missing option '--format'"),
        (["run", "--format", "peer"], "Missing option '--output'"),
    ],
)
async def test_what_the_user_can_mend_is_one_line_and_makes_nothing(
    invoke, tmp_path, arguments, message
):
    ended = await invoke(*arguments)

    assert (ended.exit_code, ended.stdout) == (2, "")
    assert message in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


async def test_a_corrupt_task_is_named_and_the_run_refused(invoke, tmp_path):
    task = next((tmp_path / "run").glob("details/normal/*/task.json"))
    task.write_text("{")
    ended = await invoke("run", "--format", "peer", "--output", "copy")

    assert ended.exit_code == 2
    assert task.parent.name in ended.stderr
    assert not (tmp_path / "copy").exists()


def test_the_sdk_returns_the_paths_of_the_copy(tmp_path):
    paths = export_run(run_dir=PEER / "success", output=tmp_path / "copy")

    assert paths["output_dir"] == str(tmp_path / "copy")
    assert Path(paths["metrics_json"]).is_file()


async def test_inside_trio_there_is_the_async_twin(tmp_path):
    with pytest.raises(UsageError, match=r"await async_export_run\(\) there"):
        export_run(run_dir=PEER / "success", output=tmp_path / "copy")
    with trio.CancelScope() as scope:
        scope.cancel()
        await async_export_run(run_dir=PEER / "success", output=tmp_path / "copy")

    assert scope.cancelled_caught
    assert list(tmp_path.iterdir()) == []
