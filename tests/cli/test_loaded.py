"""Which modules a command loads: those that it needs, since loading is most of what it takes."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from benchmarks.model_server import model_server
from benchmarks.processes import Place, open_place

# What none of these needs: other event loops, numbers that are exact, archives, and what draws,
# reads YAML, talks to docker or fills in templates.
NOBODYS = (
    *("anyio", "asyncio", "docker", "jinja2", "multiprocessing", "packaging", "rich", "xml"),
    *("yaml", "fractions", "statistics", "tarfile"),
)
# Of this package, what such a run has no use for.
UNUSED = (
    "agentcompass.cli.config",
    "agentcompass.cli.data",
    "agentcompass.cli.launch",
    "agentcompass.cli.status",
    "agentcompass.cli.summary",
    "agentcompass.config.yaml_text",
    "agentcompass.datasets",
    "agentcompass.environments.docker",
    "agentcompass.environments.fake",
    "agentcompass.exporting",
    "agentcompass.launching",
    "agentcompass.models.anthropic",
    "agentcompass.models.replay",
    "agentcompass.progress.live",
    "agentcompass.progress.plain",
    "agentcompass.records.data_set",
    "agentcompass.records.orchestration",
    "agentcompass.sdk",
    "agentcompass.store.recorded_calls",
    "agentcompass.summarizing",
)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with open_place(tmp_path) as place:
        yield place


def loaded_by(place: Place, *arguments: str) -> set[str]:
    """Every module that is there when a command has ended well."""
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))\n"
        f"sys.argv = ['agentcompass', *{list(arguments)!r}]\n"
        "from agentcompass.__main__ import main\n"
        "main()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=place.folder,
        env=_plain(place.environ),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return set(ended.stderr.splitlines()[-1].split())


def _plain(environ: Mapping[str, str]) -> dict[str, str]:
    """Without what has coverage or a debugger loaded first."""
    return {name: text for name, text in environ.items() if not name.startswith("COVERAGE_")}


def of(names: tuple[str, ...], loaded: set[str]) -> list[str]:
    """Those of `names` that are loaded, or have a module below them that is."""
    return [name for name in names if any(f"{module}.".startswith(f"{name}.") for module in loaded)]


def test_a_run_of_one_task_loads_nothing_that_it_does_not_need(place: Place) -> None:
    with model_server() as server:
        loaded = loaded_by(
            place,
            *("run", "bench_calls", "openai_chat", "mock"),
            *("--model-base-url", server.url, "--benchmark-params", json.dumps({"count": 1})),
            *("--progress", "none", "--log-level", "ERROR"),
        )

    assert "agentcompass.engine.request" in loaded
    assert "agentcompass.models.openai_chat" in loaded
    assert of(NOBODYS, loaded) == []
    assert of(UNUSED, loaded) == []


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"]])
def test_help_loads_neither_the_engine_nor_what_a_run_needs(
    place: Place, arguments: list[str]
) -> None:
    loaded = loaded_by(place, *arguments)

    assert of((*NOBODYS, "cattrs", "httpx", "orjson"), loaded) == []
    assert of(("agentcompass.engine", "agentcompass.records.request"), loaded) == []


def test_a_command_does_not_load_the_others(place: Place) -> None:
    loaded = loaded_by(place, "list", "harness")

    assert "agentcompass.cli.list" in loaded
    assert of(("agentcompass.cli.run", "agentcompass.cli.status"), loaded) == []


def test_the_version_takes_no_typing(place: Place) -> None:
    assert of(("typing", "agentcompass.cli"), loaded_by(place, "--version")) == []
