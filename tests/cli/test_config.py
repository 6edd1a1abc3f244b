"""`agentcompass config show` and `config docs`."""

import json

import pytest
import yaml
from asyncclick.testing import CliRunner

from agentcompass.cli.app import commands


@pytest.fixture
def invoke(tmp_path, toys, monkeypatch):
    monkeypatch.chdir(tmp_path)

    async def call(*arguments, **environ):
        runner = CliRunner(env={"XDG_CONFIG_HOME": str(tmp_path), **environ})
        return await runner.invoke(commands, ["config", *arguments])

    return call


async def test_the_configuration_is_shown_as_yaml_and_as_json(invoke, tmp_path):
    (tmp_path / "a.yaml").write_text("benchmarks: {toy: {sample_ids: [1, NO], path: 日本}}\n")

    as_yaml = await invoke("show", "--config", "a.yaml", "--harness", "toy")
    as_json = await invoke("show", "--config", "a.yaml", "--harness", "toy", "--format", "json")

    shown = json.loads(as_json.stdout)
    assert yaml.safe_load(as_yaml.stdout) == shown
    assert shown["benchmarks"]["toy"]["sample_ids"] == ["1", "NO"]
    assert shown["harnesses"]["toy"]["steps"] == 10
    assert "日本" in as_yaml.stdout


async def test_no_secret_is_shown(invoke, tmp_path):
    (tmp_path / "config.yaml").write_text(
        "benchmarks: {toy: {judge: {api_key: sk-1}, open: {a: has hush-hush-hush, b: '${T}'}}}\n"
        "environments: {toybox: {env_variables: {MY_TOKEN: hush-hush-hush, A: shown}}}\n"
    )

    ended = await invoke("show", T="hush-hush-hush")

    assert ended.exit_code == 0
    assert "hush" not in ended.stdout
    assert "sk-1" not in ended.stdout
    assert "A: shown" in ended.stdout


async def test_a_fault_of_the_configuration_is_one_line(invoke, tmp_path):
    (tmp_path / "config.yaml").write_text("execution: {x: 1}\n")

    ended = await invoke("show")

    assert ended.exit_code == 2
    assert ended.stderr.startswith("Error: config.yaml: execution: unknown key x; known: task_c")


@pytest.mark.parametrize("kind", ["env", "environment"])
async def test_a_component_is_described_field_by_field(invoke, kind):
    ended = await invoke("docs", kind, "toybox")

    lines = ended.stdout.splitlines()
    assert lines[:2] == ["environment toybox (toy_components:ToyEnvironment)", "A box."]
    described = lines.index("sandbox_start_timeout (number, default 60.0 s)")
    assert lines[described + 1] == "    Until a session is usable; 0 is none."
    assert any(line.startswith("setup.image (") for line in lines)
    assert all(len(line) < 80 for line in lines if line.startswith("    "))


async def test_an_unknown_component_is_refused(invoke):
    ended = await invoke("docs", "benchmark", "nope")

    assert ended.exit_code == 2
    assert ended.stderr.startswith("Error: benchmark 'nope' is not known; known: broken, lacking")
