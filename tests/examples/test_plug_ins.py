"""The example packages of the docs: built as wheels, installed beside this one, and run."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.process import ROOT, call

EXAMPLES = ROOT / "docs" / "examples"
PIP = (
    *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
    *("--no-deps", "--no-index"),
)
RUN = ("run", "word_count", "oracle", "none", "--progress", "none", "--run-id", "r")


def build(name: str, folder: Path) -> None:
    """The wheel of one example, by its own build back end; nothing is downloaded."""
    source = shutil.copytree(EXAMPLES / name, folder / name)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder / "wheels"],
        cwd=source,
        check=True,
        capture_output=True,
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both wheels in a folder that PYTHONPATH makes a place of installed packages."""
    folder = tmp_path_factory.mktemp("examples")
    for name in ("word-count", "word-count-recipe"):
        build(name, folder)
    target = folder / "site"
    wheels = [str(path) for path in (folder / "wheels").glob("*.whl")]
    subprocess.run(
        [*PIP, "--target", str(target), *wheels],
        check=True,
        env={**os.environ, "PIP_ROOT_USER_ACTION": "ignore"},
    )
    return target


def run_info(cwd: Path) -> dict:
    (path,) = cwd.glob("results/**/run_info.json")
    return json.loads(path.read_text())


def test_the_benchmark_and_the_recipe_of_other_packages_run(installed, tmp_path):
    ended = call(*RUN, toys=installed, cwd=tmp_path)

    assert ended.code == 0, ended.err
    (path,) = tmp_path.glob("results/**/metrics.json")
    assert json.loads(path.read_text())["series"][0]["value"] == 1.0
    plans = run_info(tmp_path)["resolved_execution_plans"]
    assert set(plans) == {"proverb", "haiku", "nothing"}
    for plan in plans.values():
        assert plan["attempts"]["1"]["applied_recipes"] == ["word_count_host"]
        assert plan["attempts"]["1"]["run_timeout_seconds"] == 60.0


def test_an_agent_that_does_nothing_solves_nothing_and_the_user_wins_over_the_recipe(
    installed, tmp_path
):
    arguments = ("run", "word_count", "nop", "none", "--progress", "none")
    ended = call(
        *arguments, "--execution-params", '{"run_timeout_seconds": 7}', toys=installed, cwd=tmp_path
    )

    assert ended.code == 0, ended.err
    (path,) = tmp_path.glob("results/**/metrics.json")
    assert json.loads(path.read_text())["series"][0]["value"] == 0.0
    plan = run_info(tmp_path)["resolved_execution_plans"]["haiku"]["attempts"]["1"]
    assert plan["run_timeout_seconds"] == 7.0
    assert plan["applied_recipes"] == ["word_count_host"]


def test_a_recipe_that_is_not_on_by_default_is_tried_where_it_is_named(installed, tmp_path):
    named = ("--recipe", "word_count_host", "--recipe", "word_count_slow")
    ended = call(*RUN, *named, toys=installed, cwd=tmp_path)

    assert ended.code == 0, ended.err
    info = run_info(tmp_path)
    plan = info["resolved_execution_plans"]["haiku"]["attempts"]["1"]
    assert plan["applied_recipes"] == ["word_count_host", "word_count_slow"]
    assert plan["run_timeout_seconds"] == 3600.0
    assert info["request"]["execution"]["enabled_recipes"] == ["word_count_host", "word_count_slow"]


def test_the_folder_of_recipes_is_loaded_without_being_installed(installed, tmp_path):
    site = tmp_path / "site"
    shutil.copytree(installed, site, ignore=shutil.ignore_patterns("*recipe*"))
    folder = EXAMPLES / "word-count-recipe" / "word_count_recipe"
    ended = call(*RUN, "--recipe-dir", str(folder), toys=site, cwd=tmp_path)

    assert ended.code == 0, ended.err
    info = run_info(tmp_path)
    plan = info["resolved_execution_plans"]["haiku"]["attempts"]["1"]
    assert plan["applied_recipes"] == ["word_count_host"]
    assert info["request"]["metadata"]["recipe_dirs"] == [str(folder)]


def test_what_is_installed_is_documented(installed, tmp_path):
    docs = call("config", "docs", "benchmark", "word_count", toys=installed, cwd=tmp_path)

    assert "Count the words of small texts." in docs.out
    assert "tolerance (integer, default 0 words)" in docs.out
