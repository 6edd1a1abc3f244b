"""`agentcompass run` in this process, around a fake `evaluate`."""

import inspect
import logging

import pytest
from asyncclick.testing import CliRunner

from agentcompass.cli.app import commands
from agentcompass.cli.options import RUN_OPTIONS
from agentcompass.cli.result import show_result
from agentcompass.cli.run import run
from agentcompass.config.keywords import KEYWORDS
from tests.cli.fake_evaluate import evaluate

RUN = ["run", "toy", "toy", "m", "--env", "toybox"]


@pytest.fixture
def invoke(tmp_path, toys, monkeypatch):
    monkeypatch.chdir(tmp_path)

    async def call(*arguments, fake="complete", obj=evaluate, **environ):
        runner = CliRunner(env={"XDG_CONFIG_HOME": str(tmp_path), "FAKE_RUN": fake, **environ})
        return await runner.invoke(commands, list(arguments), obj=obj)

    return call


async def test_a_completed_run_prints_its_table_and_directory(invoke, tmp_path):
    ended = await invoke(*RUN)

    assert ended.exit_code == 0
    assert ended.stdout.splitlines() == [
        "toy / toy / m on toybox: completed",
        "Metric              Value   Evaluated  Missing  Errors  Tasks",
        "Correct (native@1)  0.5000  2          0        0       2",
        "Run directory: results/fake",
    ]
    assert "[1/2] one: completed" in ended.stderr
    assert "\x1b" not in ended.output


async def test_a_failed_run_names_its_fatal_issues(invoke):
    ended = await invoke(*RUN, fake="fail")

    assert ended.exit_code == 1
    assert "Correct (native@1)  1.0000 (reference)  1          1        1       2" in ended.stdout
    assert "No official score" in ended.stdout
    assert ended.stderr.splitlines()[-2:] == [
        "one#1 setup environment_failed: no room",
        "Error: Final FATAL issues",
    ]


def test_a_failed_run_without_any_value_tells_of_none(capsys):
    show_result({"evaluation_failed": True, "metrics": {"series": [{"value": None}]}}, None)
    out = capsys.readouterr().out

    assert "No official score: some tasks ended with a FATAL issue.\n" in out
    assert "for reference" not in out


async def test_a_run_out_of_time_shows_what_had_finished(invoke):
    ended = await invoke(*RUN, fake="timeout")

    assert ended.exit_code == 124
    assert "Correct (native@1)  1.0000  1          1        1       2" in ended.stdout
    assert ended.stderr.splitlines()[-1] == "Error: request deadline exceeded: 3 s"


async def test_a_usage_error_of_preflight_is_one_line(invoke, tmp_path):
    ended = await invoke(*RUN, fake="usage")

    assert ended.exit_code == 2
    assert ended.stdout == ""
    assert ended.stderr == "Error: the data set is not there; put it into data/toy\n"
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nope", "toy", "m", "--env", "toybox"], "benchmark 'nope' is not known; known: b"),
        (["run", "toy", "nope", "m", "--env", "toybox"], "harness 'nope' is not known; known: cl"),
        (["run", "toy", "toy", "m", "--env", "nope"], "environment 'nope' is not known; known: d"),
        (["run", "toy", "toy", ""], "MODEL: the id of a model is required"),
        (["run", "toy", "toy"], "Missing argument 'MODEL'."),
        ([*RUN, "extra"], "Got unexpected extra argument (extra)"),
        ([*RUN, "--provider-limits", "a=1"], "No such option '--provider-limits'. Did you mean "),
        ([*RUN, "--benchmark-params", "{'a': 1}"], "--benchmark-params: invalid JSON at line 1 c"),
        ([*RUN, "--benchmark-params", '{"a": 1}'], "--benchmark-params.a: unknown key a; known: "),
        ([*RUN, "--benchmark-params", '{"k": 1}'], "--benchmark-params.k: the number of attempts"),
        ([*RUN, "--env-params", '{"x": 1}'], "--env-params.x: unknown key x; known: sandbox_star"),
        ([*RUN, "--execution-params", '{"x": 1}'], "--execution-params: unknown key x; known: ta"),
        ([*RUN, "--k", "0"], "--k: must be >= 1: 0"),
        ([*RUN, "--k", "two"], "--k: expected an integer, got 'two'"),
        ([*RUN, "--attempt-strategy", "best"], "Invalid value for '--attempt-strategy': 'best' "),
        ([*RUN, "--task-concurrency", "0"], "--task-concurrency: must be >= 1: 0"),
        ([*RUN, "--max-retries", "-1"], "--max-retries: must be >= 0: -1"),
        ([*RUN, "--timeout-seconds", "-1"], "--timeout-seconds: must be a finite number of at l"),
        ([*RUN, "--timeout-seconds", "1e999"], "--timeout-seconds: expected a finite number, go"),
        ([*RUN, "--provider-limit", "docker=8=9"], "--provider-limit: expected an integer, got "),
        ([*RUN, "--provider-limit", "dokcer=8"], "--provider-limit.dokcer: environment 'dokcer'"),
        ([*RUN, "--env-open-qps", "docker=-1"], "--env-open-qps: docker must be at least 0, not"),
        ([*RUN, "--retry-pattern-list", '["("]'], "--retry-pattern-list: '(' is not a regular e"),
        ([*RUN, "--run-id", ".."], "--run-id: must be a plain name of one folder, not '..'"),
        ([*RUN, "--run-name", "../x"], "--run-name: must be names of folders with / between the"),
        ([*RUN, "--config", "no.yaml"], "no.yaml: cannot be read: No such file or directory"),
        ([*RUN, "--reuse", ".."], "--reuse: must be a plain name of one folder, not '..'"),
        ([*RUN, "--recipe", "x"], "--recipe: recipe 'x' is not known; known: swebe"),
        ([*RUN, "--analysis-params", '{"a": 1}'], "--analysis-params: choosing analyzers is not"),
        ([*RUN, "--model-api-key", "${NO_SUCH}"], "--model-api-key: the environment has no NO_S"),
        ([*RUN, "--model-api-protocol", "x"], "--model-api-protocol: protocol 'x' is not known"),
    ],
)
async def test_what_the_user_can_mend_is_one_line_and_leaves_nothing(
    invoke, tmp_path, arguments, message
):
    ended = await invoke(*arguments)

    assert ended.exit_code == 2
    assert ended.stdout == ""
    assert ended.stderr.startswith(f"Error: {message}"), ended.stderr
    assert ended.stderr.count("\n") == 1
    assert not (tmp_path / "results").exists()


async def test_every_option_reaches_the_request(invoke):
    seen = []

    async def keep(request, options, **_):
        seen.append((request, options))
        return {}

    await invoke(
        *RUN,
        *("--benchmark-params", '{"sample_ids": ["a"]}', "--harness-params", '{"steps": 3}'),
        *("--model-base-url", "http://h/v1", "--model-api-key", "${KEY}"),
        *("--model-api-protocol", '["replay"]', "--model-params", '{"temperature": 0}'),
        *("--env-params", '{"image": "x"}', "--execution-params", '{"run_timeout_seconds": 9}'),
        *("--task-concurrency", "4", "--max-retries", "2", "--retry-pattern-list", '["x"]'),
        *("--keep-environment", "--k", "3", "--attempt-strategy", "pass"),
        *("--run-name", "a/b", "--run-id", "r1", "--no-checkpoint-resume"),
        *("--results-dir", "out", "--data-dir", "in", "--timeout-seconds", "0"),
        *("--env-open-qps", "docker=0.5", "--provider-limit", "docker=8", "--provider-limit"),
        *("modal=0", "--progress", "none", "--log-level", "error", "--file-log-level", "INFO"),
        "--no-enable-analysis",
        obj=keep,
        KEY="sk-from-the-environment",
    )

    [(request, options)] = seen
    assert request.benchmark.params == {"sample_ids": ["a"]}
    assert request.harness.params == {"steps": 3}
    assert request.model.base_url == "http://h/v1"
    assert request.model.api_key == "sk-from-the-environment"
    assert request.model.api_protocol == ("replay",)
    assert request.model.params == {"temperature": 0}
    assert request.environment.setup.image == "x"
    execution = request.execution
    assert execution.run_timeout_seconds == 9
    assert (execution.task_concurrency, execution.max_retries) == (4, 2)
    assert execution.retry_pattern_list == ("x",)
    assert execution.keep_environment
    assert not execution.enable_analysis
    assert (execution.attempts.k, execution.attempts.strategy) == (3, "pass")
    assert (request.output.run_name, request.output.run_id) == ("a/b", "r1")
    assert not request.runtime.checkpoint_resume
    assert (options.results_dir, options.data_dir) == ("out", "in")
    assert options.timeout_seconds is None
    assert options.env_open_qps["docker"] == 0.5
    assert (options.provider_limits["docker"], options.provider_limits["modal"]) == (8, None)
    assert (options.progress, options.log_level, options.file_log_level) == (
        "none",
        "ERROR",
        "INFO",
    )


def test_every_option_is_a_keyword_and_every_keyword_an_option():
    without = {"log_file"}  # seed 003: for the SDK alone; also in the section `runtime`

    assert {param.name for param in run.params} == (KEYWORDS | {"reuse"}) - without - {
        "reuse_run_id"
    }
    assert len(RUN_OPTIONS) == len(run.params) - 3


async def test_the_console_shows_records_from_the_level_on_and_no_secret(invoke):
    key = ("--model-api-key", "sk-hush-hush", "--progress", "none")
    shown = await invoke(*RUN, *key, "--results-dir", "a")
    quiet = await invoke(*RUN, *key, "--results-dir", "b", "--log-level", "WARNING")

    assert shown.stderr == "INFO agentcompass.fake opened with the key ********\n"
    assert quiet.stderr == ""
    assert logging.getLogger("agentcompass").handlers == []


async def test_the_help_shows_every_option_under_a_heading(invoke):
    ended = await invoke("run", "--help")

    assert ended.exit_code == 0
    for option in run.params[3:]:
        assert option.opts[0] in ended.stdout
    for heading in ("Components:", "Execution:", "Output and reuse:", "Process:", "Analysis:"):
        assert heading in ended.stdout


@pytest.mark.parametrize("arguments", [[], ["run", "--help"], ["config", "docs", "--help"]])
async def test_help_is_for_people(invoke, arguments):
    ended = await invoke(*arguments)

    assert "Usage: " in ended.output
    assert all(len(line) <= 80 for line in ended.output.splitlines())


def test_options_are_documented():
    assert inspect.getdoc(run.callback)
    assert all(param.help for param in run.params[3:])
