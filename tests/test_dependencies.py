"""What a component needs is asked for in preflight; ours are installed where the user wants it."""

import base64
import hashlib
import tomllib
import zipfile
from pathlib import Path

import pytest

from agentcompass import async_run_evaluation
from agentcompass.benchmarks._data_sets import SWEBENCH_VERIFIED
from agentcompass.benchmarks.starter import Starter
from agentcompass.dependencies import missing, require
from agentcompass.errors import DependencyMissing
from agentcompass.records.needs import Needs
from tests.datasets.rows_benchmark import Rows, install

NEEDS = Needs(packages=("toy-dependency>=1.0",))


def write_wheel(folder: Path, name: str, version: str, requires: str = "") -> None:
    """A wheel as any build back end makes it, of one empty module."""
    about = f"{name}-{version}.dist-info"
    needed = f"Requires-Dist: {requires}\n" if requires else ""
    files = {
        f"{name}.py": "",
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needed}",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    lines = [f"{path},{_digest(text)},{len(text)}" for path, text in files.items()]
    files[f"{about}/RECORD"] = "\n".join([*lines, f"{about}/RECORD,,", ""])
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).decode().rstrip("=")


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder of wheels as the only index, and a place of this environment to install into."""
    links, target = tmp_path / "links", tmp_path / "site"
    links.mkdir()
    target.mkdir()
    for name, value in {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(links),
        "PIP_TARGET": str(target),
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.syspath_prepend(target)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return links


async def start(benchmark, **settings):
    return await async_run_evaluation(
        benchmark=benchmark,
        harness="nop",
        model="none",
        progress="none",
        benchmark_params={"sample_ids": []},
        **settings,
    )


async def test_what_is_missing_is_said_before_the_run_with_the_command(
    index, monkeypatch, tmp_path
):
    monkeypatch.setattr(Starter, "needs", NEEDS, raising=False)

    with pytest.raises(DependencyMissing) as caught:
        await start("starter")
    assert str(caught.value) == (
        "benchmark 'starter' needs toy-dependency>=1.0: pip install 'toy-dependency>=1.0'"
    )
    assert not (tmp_path / "results").exists()


async def test_ours_are_installed_into_the_running_environment_where_that_is_asked(
    index, monkeypatch, tmp_path, caplog
):
    """Without what they depend on for all else, where that is not wanted."""
    caplog.set_level("INFO", "agentcompass")
    write_wheel(index, "toy_dependency", "1.5", requires="a-package-that-nobody-has")
    alone = Needs(packages=NEEDS.packages, dependencies=False)
    monkeypatch.setattr(Starter, "needs", alone, raising=False)
    result = await start("starter", auto_install_dependencies=True)

    assert result["metadata"]["status"] == "completed"
    assert (tmp_path / "site" / "toy_dependency.py").exists()
    assert missing(NEEDS) == []
    assert "benchmark 'starter' needs toy-dependency>=1.0: " in caplog.text


async def test_those_of_other_packages_are_never_installed(index, monkeypatch, tmp_path):
    write_wheel(index, "toy_dependency", "1.5")
    install(tmp_path / "plug-in", monkeypatch)
    monkeypatch.setattr(Rows, "needs", NEEDS, raising=False)

    with pytest.raises(DependencyMissing, match="benchmark 'rows' needs toy-dependency"):
        await start("rows", auto_install_dependencies=True)
    assert list((tmp_path / "site").iterdir()) == []


async def test_an_installation_that_fails_says_why(index):
    with pytest.raises(DependencyMissing, match=r"could not be installed: .*[Nn]o matching dist"):
        await require("benchmark 'b'", NEEDS, install=True)


async def test_another_version_is_not_enough():
    with pytest.raises(DependencyMissing, match=r"b needs attrs==0.1 \(not 2.*\): pip install"):
        await require("b", Needs(packages=("attrs==0.1",)), install=False)


def test_the_command_says_where_dependencies_are_not_wanted():
    alone = Needs(packages=NEEDS.packages, dependencies=False)

    assert alone.command == "pip install --no-deps 'toy-dependency>=1.0'"


async def test_without_pip_and_uv_the_command_is_told(index, monkeypatch):
    monkeypatch.setattr("agentcompass.dependencies.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "")

    with pytest.raises(DependencyMissing, match="neither pip nor uv is here to install by: pip"):
        await require("b", NEEDS, install=True)


def test_an_extra_brings_what_the_component_asks_for():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    needs = SWEBENCH_VERIFIED.needs
    assert needs is not None

    assert tuple(project["project"]["optional-dependencies"][needs.extra]) == needs.packages
