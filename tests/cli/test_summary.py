"""`agentcompass summary`, on runs that `agentcompass run` wrote."""

import shutil
from pathlib import Path

import pytest
from asyncclick.testing import CliRunner

from agentcompass import UsageError, async_run_evaluation, async_summary, summary
from agentcompass.cli.app import commands

PEER = Path(__file__).parents[2] / "fixtures" / "peer"


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    async def call(*arguments):
        runner = CliRunner(env={"XDG_CONFIG_HOME": str(tmp_path)})
        return await runner.invoke(commands, ["summary", *map(str, arguments)])

    return call


@pytest.fixture
def peer(tmp_path):
    return shutil.copytree(PEER / "error", tmp_path / "peer")


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def test_a_dry_run_prints_the_very_summary_of_the_run_and_writes_nothing(invoke):
    done = await async_run_evaluation(
        benchmark="starter",
        harness="nop",
        model="none",
        benchmark_params={"sample_ids": ["nginx-vhost", "settings-migration"]},
        run_id="r1",
        progress="none",
    )
    directory = Path(done["paths"]["output_dir"])
    before = files(directory)
    ended = await invoke(directory, "--dry-run")

    assert ended.exit_code == 0
    assert ended.stderr == ""
    assert ended.stdout == Path(done["paths"]["summary_md"]).read_text()
    assert files(directory) == before


async def test_the_result_is_a_table_and_the_files_are_replaced(invoke, peer):
    ended = await invoke("peer", "--benchmark-params", '{"aggregation_mode": "category_mean"}')

    assert ended.exit_code == 0, ended.output
    assert ended.stdout.splitlines() == [
        "toyqa / openai_chat / mock-model on host_process: completed",
        "Metric                 Value   Evaluated  Missing  Errors  Tasks",
        "Correct (native@1)     0.6000  5          1        4       6",
        "Answer Len (native@1)  1.2000  5          1        4       6",
        f"Run directory: {peer}",
    ]
    assert "counted as solved 0.6667" in (peer / "summary.md").read_text()
    assert '"aggregation": "category_mean"' in (peer / "metrics.json").read_text()


async def test_a_corrupt_task_is_named_on_stderr_and_left_out(invoke, peer):
    task = next(peer.glob("details/normal/*/task.json"))
    task.write_text("{")
    ended = await invoke("peer", "--dry-run")

    assert ended.exit_code == 0
    assert "**Total:** 5" in ended.stdout
    [line] = ended.stderr.splitlines()
    assert "left out" in line
    assert task.parent.name in line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "is not a run directory: it has no run_info.json"),
        (["peer", "--benchmark-params", '{"k": 1}'], "Error: --benchmark-params: unknown key k; k"),
        (
            ["peer", "--benchmark-params", "{"],
            "Error: --benchmark-params: invalid JSON at line 1 c",
        ),
        (["peer", "--benchmark-params", '{"sample_ids": ["q"]}'], "--benchmark-params.sample_ids"),
        (["peer", "--config", "no.yaml"], "Error: no.yaml: cannot be read"),
        ([], "Missing argument 'RUN_DIR'"),
    ],
)
async def test_what_the_user_can_mend_is_one_line_and_changes_nothing(
    invoke, peer, arguments, message
):
    before = files(peer)
    ended = await invoke(*arguments)

    assert ended.exit_code == 2
    assert ended.stdout == ""
    assert message in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert files(peer) == before


def test_the_sdk_returns_what_the_command_shows(peer):
    result = summary(run_dir=peer, dry_run=True)

    assert set(result) == {
        *("evaluation_failed", "metadata", "metrics", "summary", "paths", "markdown", "dry_run"),
    }
    assert result["dry_run"]
    assert result["paths"]["run_dir"] == result["paths"]["output_dir"] == str(peer)
    assert result["summary"]["metrics"] == {"correct.native@1": 0.6}
    assert result["metadata"]["status"] == "completed"


async def test_inside_trio_there_is_the_async_twin(peer):
    result = await async_summary(run_dir=peer)

    assert Path(result["paths"]["summary_md"]).read_text() == result["markdown"]
    with pytest.raises(UsageError, match=r"await async_summary\(\) there"):
        summary(run_dir=peer)
