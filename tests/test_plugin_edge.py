"""Faults of third-party plug-ins before a run: one line that names the plug-in, nothing created."""

import logging
import signal
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import trio
from asyncclick.testing import CliRunner, Result

from agentcompass import async_run_evaluation
from agentcompass.cli.app import commands
from agentcompass.config.components import build_component, members
from agentcompass.errors import PluginFailed, UsageError
from agentcompass.plugin_edge import plugin_context, plugin_edge
from agentcompass.protocols import Benchmark, Environment, Harness
from agentcompass.registry import known
from tests.whole_runs import read, write_tasks

_MODULE = """
import contextlib

import attrs
from agentcompass.benchmarks.starter import Starter
from agentcompass.environments.fake import FakeConfig, FakeEnvironment
from agentcompass.records.metrics import MetricContract
from agentcompass.records.task import TaskSpec

class OddError(Exception):
    pass

class OddBenchmark(Starter):
    id = "odd"
{benchmark}

class OddEnvironment:
    id, description, Config = "oddbox", "odd", FakeConfig
    capabilities = FakeEnvironment(FakeConfig()).capabilities
    sandbox_start_timeout = operation_timeout = None

    def __init__(self, config):
        pass

    async def open(self, request):
        raise OddError("never asked")

    async def preflight(self):
        pass

    def running(self, *, keep):
        pass
{environment}
"""
_ENTRY_POINTS = """
[agentcompass.benchmarks]
odd = odd_plugins:OddBenchmark
[agentcompass.environments]
oddbox = odd_plugins:OddEnvironment
"""

Invoke = Callable[..., Any]


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Run benchmark `odd` on the command line, each plug-in with the code that is given."""
    folder = tmp_path / "plugins"
    (folder / "odd-1.dist-info").mkdir(parents=True)
    (folder / "odd-1.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1")
    (folder / "odd-1.dist-info/entry_points.txt").write_text(_ENTRY_POINTS)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "odd_plugins", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    async def call(
        *options: str, benchmark: str = "", environment: str = "", env: str = "host_process"
    ) -> Result:
        code = _MODULE.format(benchmark=f"    {benchmark}", environment=f"    {environment}")
        (folder / "odd_plugins.py").write_text(code)
        arguments = ["run", "odd", "nop", "none", "--env", env, "--progress", "none", *options]
        return await CliRunner().invoke(commands, arguments)

    return call


BENCHMARK_FAULTS = {
    "def __init__(self, config): raise OddError('two\\nlines')": "__init__: OddError: two",
    "def load_tasks(self, data_dir): return 1 + 'a'": "load_tasks: TypeError: unsupported operand",
    "def load_tasks(self, data_dir): return None": "load_tasks: TypeError: 'NoneType' object is",
    "def load_tasks(self, data_dir): raise SystemExit(3)": "load_tasks: SystemExit: 3",
    "def load_tasks(self, data_dir): raise KeyboardInterrupt": "load_tasks: KeyboardInterrupt",
    "def load_tasks(self, data_dir): raise BaseException('odd')": "load_tasks: BaseException: odd",
    "def load_tasks(self, data_dir): return [TaskSpec(task_id=7)]": (
        "load_tasks: ValueError: task id 7 is no text"
    ),
    "def metric_contract(self): raise OddError": "metric_contract: OddError",
    "def metric_contract(self): return MetricContract(specs={})": "metric_contract: ",
}


@pytest.mark.parametrize("code", BENCHMARK_FAULTS)
async def test_a_fault_of_a_benchmark_is_one_line(
    invoke: Invoke, tmp_path: Path, code: str
) -> None:
    ended = await invoke(benchmark=code)

    assert ended.stderr.startswith(f"Error: benchmark 'odd': {BENCHMARK_FAULTS[code]}")
    assert (ended.stderr.count("\n"), ended.exit_code) == (1, 2)
    assert not (tmp_path / "results").exists()


async def test_a_fault_of_a_providers_preflight_is_one_line(invoke: Invoke) -> None:
    ended = await invoke(
        environment="async def preflight(self): raise OddError('no daemon')", env="oddbox"
    )

    assert ended.stderr == "Error: environment 'oddbox': preflight: OddError: no daemon\n"
    assert ended.exit_code == 2


RUNNING_FAULTS = {
    "def running(self, *, keep): raise OddError('no daemon')": "OddError: no daemon",
    """@contextlib.asynccontextmanager
    async def running(self, *, keep):
        raise OddError('no daemon')
        yield""": "OddError: no daemon",
    """@contextlib.asynccontextmanager
    async def running(self, *, keep):
        yield
        raise OddError('not closed')""": "OddError: not closed",
    "def running(self, *, keep): raise KeyboardInterrupt": "KeyboardInterrupt",
}


@pytest.mark.parametrize("code", RUNNING_FAULTS)
async def test_a_fault_of_a_provider_around_a_run_fails_the_run_in_one_line(
    invoke: Invoke, tmp_path: Path, code: str
) -> None:
    ended = await invoke(environment=code, env="oddbox")

    told = f"environment 'oddbox': running: {RUNNING_FAULTS[code]}"
    assert ended.stderr.splitlines()[-1] == f"Error: {told}", ended.stderr
    assert ended.exit_code == 1
    (path,) = tmp_path.glob("results/**/run_info.json")
    info = read(path)
    assert (info["status"], info["error"]) == ("failed", f"PluginFailed: {told}")


async def test_an_error_inside_is_no_fault_of_the_plugin_around_it() -> None:
    with pytest.raises(KeyError):
        async with plugin_context("environment 'x'", nullcontext):
            raise KeyError("ours")


async def test_what_ends_more_than_a_plugin_is_not_its_fault(
    autojump_clock: trio.abc.Clock,
) -> None:
    with trio.move_on_after(1) as scope:
        with plugin_edge("a plug-in that waits"):
            await trio.sleep(2)
    assert scope.cancelled_caught

    with pytest.raises(KeyboardInterrupt), plugin_edge("a plug-in at work"):
        signal.raise_signal(signal.SIGINT)


async def test_a_provider_that_lacks_a_method_is_told_which(invoke: Invoke) -> None:
    ended = await invoke(environment="running = property()", env="oddbox")

    assert ended.stderr == (
        "Error: environment 'oddbox' lacks running; see agentcompass.protocols\n"
    )
    assert ended.exit_code == 2


async def test_a_module_of_the_standard_library_is_not_to_be_installed(invoke: Invoke) -> None:
    ended = await invoke(benchmark="import nobody_has_this.part")
    assert "needs the package 'nobody_has_this': pip install nobody_has_this" in ended.stderr

    sys.modules.pop("odd_plugins", None)
    ended = await invoke(benchmark="import xml.nothing")
    assert "cannot be imported: ModuleNotFoundError: No module named 'xml.nothing'" in ended.stderr


def test_the_log_has_the_traceback(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "agentcompass")
    with pytest.raises(PluginFailed, match="benchmark 'x': load_tasks: KeyError: 'row'"):
        with plugin_edge("benchmark 'x': load_tasks"):
            raise ExceptionGroup("several", [KeyError("row")])

    assert "Traceback" in caplog.text
    assert "ExceptionGroup" in caplog.text


@pytest.mark.parametrize(
    ("kind", "seam"),
    [("benchmark", Benchmark), ("harness", Harness), ("environment", Environment)],
)
def test_what_is_built_in_has_all_that_its_protocol_asks_for(kind: Any, seam: type[Any]) -> None:
    assert "id" in members(seam)
    for component_id in known(kind):
        params = {"path": "x"} if component_id == "task_directory" else {}
        assert build_component(kind, component_id, params, path="params") is not None


async def test_mode_none_is_refused_before_task_folders_are_run(tmp_path: Path) -> None:
    path = str(write_tasks(tmp_path / "tasks", {"a": {}}))
    with pytest.raises(
        UsageError, match=r"--env-params: benchmark .* in evaluation_mode none; kno"
    ):
        await async_run_evaluation(
            benchmark="task_directory",
            harness="nop",
            model="none",
            environment="host_process",
            environment_params={"evaluation_mode": "none"},
            benchmark_params={"path": path},
            results_dir=str(tmp_path / "results"),
            progress="none",
        )

    assert not (tmp_path / "results").exists()
