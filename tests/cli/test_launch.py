"""`agentcompass launch` in this process, around a fake of what runs the requests."""

import inspect
from pathlib import Path

import pytest
import yaml
from asyncclick.testing import CliRunner

from agentcompass.cli.app import commands
from agentcompass.cli.launch import launch
from agentcompass.config.layers import KEYWORDS
from agentcompass.config.orchestration import resolve_orchestration
from agentcompass.config.outline import (
    OF_A_REQUEST,
    OF_THE_PROCESS,
    SECTIONS,
    read_orchestration,
)
from agentcompass.errors import ConfigInvalid
from agentcompass.records.orchestration import OrchestrationResult, RequestOutcome, overall

DOCS = Path(__file__).resolve().parents[2] / "docs"

PLAN = """
defaults:
  benchmark: {id: toy}
  harness: {id: toy}
  environment: {id: toybox}
  model: {id: m, api_key: sk-hush-hush-hush}
requests: [{name: a}, {name: b}]
"""


def series(value):
    counts = {"total": 2, "evaluated": 1, "error": 1}
    labels = {"metric_id": "correct", "reducer": "native", "k": 1}
    return {**labels, "value": value, "counts": counts, "display": {"label": "Correct"}}


def outcome(name, status, folder=None, error=None):
    metrics = {"series": [series(0.5)] if folder else []}
    paths = {"output_dir": f"{folder}"} if folder else {}
    result = {"metrics": metrics, "paths": paths} if folder else None
    return RequestOutcome(name=name, status=status, result=result, error=error, paths=paths)


@pytest.fixture
def invoke(tmp_path, toys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.yaml").write_text(PLAN)
    seen = []

    async def call(*arguments, outcomes=(), raises=None):
        async def orchestrate(resolved, *, reporters, ended, on_open, redactor):
            seen.append(resolved)
            for each in reversed(outcomes):
                for told in ended:
                    told(each)
            if raises is not None:
                raise raises
            return OrchestrationResult(
                orchestration_id="o",
                name="",
                status=overall(outcomes),
                requests={each.name: each for each in outcomes},
                started_at="",
                finished_at="",
            )

        runner = CliRunner(env={"XDG_CONFIG_HOME": str(tmp_path)})
        ended = await runner.invoke(commands, ["launch", *arguments], obj=orchestrate)
        return ended, seen

    return call


async def test_a_completed_launch_has_one_table_in_the_order_of_the_file(invoke):
    done = [outcome("a", "completed", "results/a/r"), outcome("b", "completed", "results/b/r")]
    ended, _ = await invoke("plan.yaml", outcomes=done)

    assert ended.exit_code == 0, ended.output
    assert ended.stdout.splitlines() == [
        "Request  Status     Metric              Value   Evaluated  Missing  Errors  Tasks",
        "a        completed  Correct (native@1)  0.5000  1          1        1       2",
        "b        completed  Correct (native@1)  0.5000  1          1        1       2",
        "a: results/a/r",
        "b: results/b/r",
    ]


@pytest.mark.parametrize(
    ("first", "second", "code", "last"),
    [
        ("completed", "failed", 1, "Error: failed: 1 of 2 requests: 'b'"),
        ("failed", "failed", 1, "Error: failed: 2 of 2 requests: 'a', 'b'"),
        ("completed", "timed_out", 124, "Error: out of time: 1 of 2 requests: 'b'"),
        ("cancelled", "failed", 130, "Error: cancelled by the caller"),
    ],
)
async def test_the_exit_code_is_that_of_the_gravest_end(invoke, first, second, code, last):
    ends = [outcome("a", first, "results/a/r"), outcome("b", second, None, "no\ndata")]
    ended, _ = await invoke("plan.yaml", "--progress", "none", outcomes=ends)

    assert ended.exit_code == code
    assert ended.stderr.splitlines()[-1] == last
    assert "b: no\\ndata" in ended.stderr.splitlines()
    rows = ended.stdout.splitlines()
    assert rows[2].split() == ["b", *second.replace("_", " ").split(), *("-" for _ in range(6))]


async def test_a_bug_of_ours_leaves_the_table_of_what_came_out(invoke):
    ends = [outcome("a", "completed", "results/a/r"), outcome("b", "failed", None, "KeyError: 1")]
    ended, _ = await invoke("plan.yaml", "--progress", "none", outcomes=ends, raises=KeyError(1))

    assert isinstance(ended.exception, ExceptionGroup)  # a traceback, as of any bug
    assert ended.exit_code == 1
    assert [line.split()[:2] for line in ended.stdout.splitlines()[1:3]] == [
        ["a", "completed"],
        ["b", "failed"],
    ]
    assert ended.stdout.splitlines()[-1] == "a: results/a/r"
    assert ended.stderr == "b: KeyError: 1\n"


async def test_faults_of_the_preflight_are_one_line(invoke, tmp_path):
    faults = ["request 'a': x", "request 'b': y"]
    ended, _ = await invoke("plan.yaml", raises=ConfigInvalid(faults))

    assert ended.exit_code == 2
    assert ended.stdout == ""
    assert ended.stderr == "Error: request 'a': x; request 'b': y\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing argument 'FILE'."),
        (["no.yaml"], "no.yaml: cannot be read: No such file or directory"),
        (["plan.yaml", "--task-concurrency", "0"], "--task-concurrency: must be >= 1: 0"),
        (["plan.yaml", "--timeout-seconds", "-1"], "--timeout-seconds: must be a finite number"),
        (["plan.yaml", "--cleanup-grace-seconds", "-1"], "--cleanup-grace-seconds: must be a f"),
        (["plan.yaml", "--cleanup-grace-seconds", "x"], "--cleanup-grace-seconds: expected a n"),
        (["plan.yaml", "--provider-limit", "dokcer=8"], "--provider-limit.dokcer: environment "),
        (["plan.yaml", "--run-id", ".."], "--run-id: must be a plain name of one folder, not '"),
        (["plan.yaml", "--config", "no.yaml"], "no.yaml: cannot be read: No such file or direc"),
        (["plan.yaml", "--k", "3"], "No such option '--k'."),
        (["plan.yaml", "extra"], "Got unexpected extra argument (extra)"),
    ],
)
async def test_what_the_user_can_mend_is_one_line(invoke, tmp_path, arguments, message):
    ended, seen = await invoke(*arguments)

    assert ended.exit_code == 2
    assert ended.stderr.startswith(f"Error: {message}"), ended.stderr
    assert ended.stderr.count("\n") == 1
    assert seen == []


async def test_every_option_reaches_the_requests(invoke, tmp_path):
    (tmp_path / "more.yaml").write_text("benchmarks: {toy: {limit: 2}}\n")
    done = [outcome("a", "completed", "x")]
    _, [resolved] = await invoke(
        *("plan.yaml", "--config", "more.yaml", "--task-concurrency", "4", "--run-id", "r1"),
        *("--results-dir", "out", "--data-dir", "in", "--timeout-seconds", "2.5"),
        *("--cleanup-grace-seconds", "7", "--provider-limit", "docker=8", "--provider-limit"),
        *("modal=0", "--env-open-qps", "docker=0.5", "--progress", "none", "--log-level"),
        *("ERROR", "--file-log-level", "INFO", "--no-auto-install-dependencies", "--reuse"),
        outcomes=done,
    )
    options = resolved.runtime

    assert resolved.task_concurrency == 4
    assert resolved.cleanup_grace_seconds == 7
    for request in resolved.requests:
        assert request.benchmark.params == {"limit": 2}
        assert request.output.run_id == "r1"
        assert request.runtime.reuse
        assert request.execution.cleanup_grace_seconds == 7
        assert request.metadata["config_path"] == ["more.yaml"]
    assert (options.results_dir, options.data_dir, options.timeout_seconds) == ("out", "in", 2.5)
    assert options.provider_limits == {"docker": 8, "modal": None}
    assert options.env_open_qps == {"docker": 0.5}
    assert (options.progress, options.log_level, options.file_log_level) == (
        *("none", "ERROR", "INFO"),
    )


async def test_a_dry_run_prints_what_would_be_run_and_creates_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.yaml").write_text(
        PLAN.replace("toybox", "fake").replace("id: toy", "id: nop", 2).replace("nop", "starter", 1)
    )
    runner = CliRunner(env={"XDG_CONFIG_HOME": str(tmp_path)})
    ended = await runner.invoke(commands, ["launch", "plan.yaml", "--dry-run", "--run-id", "0644"])
    shown = yaml.safe_load(ended.stdout)

    assert ended.exit_code == 0, ended.output
    assert "sk-hush" not in ended.output
    assert [request["name"] for request in shown["requests"]] == ["a", "b"]
    assert shown["requests"][0]["model"]["api_key"] == "********"
    assert shown["requests"][1]["output"]["run_id"] == "0644"
    assert [path.name for path in tmp_path.iterdir()] == ["plan.yaml"]


async def test_a_dry_run_runs_the_preflight(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results" / "a" / "r1").mkdir(parents=True)
    (tmp_path / "results" / "b" / "r1").mkdir(parents=True)
    (tmp_path / "plan.yaml").write_text(
        PLAN.replace("toybox", "fake").replace("id: toy", "id: nop", 2).replace("nop", "starter", 1)
    )
    runner = CliRunner(env={"XDG_CONFIG_HOME": str(tmp_path)})
    ended = await runner.invoke(commands, ["launch", "plan.yaml", "--dry-run", "--run-id", "r1"])

    assert ended.exit_code == 2
    assert ended.stdout == ""
    assert ended.stderr.count("already exists; choose another id") == 2


def test_every_option_is_a_keyword_and_every_keyword_an_option():
    without = {"log_file"}  # seed 003: for the SDK alone; also in the section `runtime`

    assert {param.name for param in launch.params} - {"file", "dry_run"} == KEYWORDS - without


def test_the_example_of_the_page_is_one(tmp_path):
    page = (DOCS / "launch.md").read_text(encoding="utf-8")
    (tmp_path / "plan.yaml").write_text(page.partition("```yaml")[2].partition("```")[0])
    written = read_orchestration("plan.yaml", cwd=tmp_path)
    resolved = resolve_orchestration(written, {}, cwd=tmp_path, environ={"MODEL_API_KEY": "k"})

    assert [request.harness.params for request in resolved.requests] == [
        {"step_limit": 100},
        {"step_limit": 100},
        {},
    ]


@pytest.mark.parametrize("name", [*SECTIONS, *OF_THE_PROCESS, *OF_A_REQUEST])
def test_every_key_is_on_the_page(name):
    assert f"`{name}`" in (DOCS / "launch.md").read_text(encoding="utf-8")


def test_options_are_documented():
    page = (DOCS / "cli.md").read_text(encoding="utf-8")

    assert inspect.getdoc(launch.callback)
    for option in launch.params[1:]:
        assert option.help
        assert f"`{option.opts[0]}`" in page


async def test_help_is_for_people(invoke):
    ended, _ = await invoke("--help")

    assert ended.exit_code == 0
    assert all(len(line) <= 80 for line in ended.stdout.splitlines())
    for option in launch.params[1:]:
        assert option.opts[0] in ended.stdout
