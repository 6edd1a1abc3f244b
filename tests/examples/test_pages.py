"""The code on the pages for authors of plug-ins works as it stands there."""

import re

from agentcompass.recipe_choice import choose_recipes
from agentcompass.records.data_set import DataSet
from agentcompass.records.environment import EnvironmentPlan
from agentcompass.records.needs import Needs
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.task import TaskSpec
from agentcompass.registry import _BUILT_IN
from tests.cli.process import ROOT

DOCS = ROOT / "docs"


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL)


def test_the_recipe_of_the_page_is_a_folder_of_recipes(tmp_path):
    (tmp_path / "__init__.py").write_text(blocks("recipes.md")[0])
    (recipe,) = choose_recipes(["starter_debugging"], [str(tmp_path)])
    task = TaskSpec(task_id="t", category="debugging")
    plan = ExecutionPlan(
        task_id="t",
        benchmark="starter",
        environment=EnvironmentPlan(id="docker"),
        run_timeout_seconds=60.0,
    )

    assert recipe.matches(task, plan)
    assert recipe.apply(task, plan).run_timeout_seconds == 120.0


def test_what_the_page_for_migrants_does_works(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (code,) = blocks("migrating.md")
    exec(code, {})

    overview, first, second, equal = capsys.readouterr().out.splitlines()
    assert overview.startswith("Correct (native@1): 1.0000 ")
    assert first.startswith("first completed ")
    assert second.startswith("second completed ")
    assert equal == "True"


def test_the_records_of_the_page_are_valid():
    found = {}
    for block in blocks("plug-ins.md"):
        exec(block, found)

    assert isinstance(found["TRIVIA"], DataSet)
    assert isinstance(found["NEEDS"], Needs)


def test_every_built_in_recipe_is_on_the_page():
    page = (DOCS / "recipes.md").read_text("utf-8")

    assert [name for name in _BUILT_IN["recipe"] if f"`{name}`" not in page] == []
