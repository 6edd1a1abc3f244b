"""Which recipes a request tries: by default, by name, from folders; and in which order."""

import textwrap
from pathlib import Path

import pytest

from agentcompass.errors import PluginFailed, UsageError
from agentcompass.recipe_choice import choose_recipes

BUILT_IN = [
    "swebench_verified_daytona",
    "swebench_verified_docker",
    "swebench_verified_modal",
    "terminal_bench_2_daytona",
    "terminal_bench_2_docker",
    "terminal_bench_2_modal",
]

RECIPES = """
import attrs
from .more import PRIORITIES

@attrs.frozen
class Config:
    pass

class First:
    id = "first"
    description = "d"
    Config = Config
    priority = PRIORITIES[0]
    enabled_by_default = True
    def __init__(self, config): ...
    def matches(self, task, plan): return False
    def apply(self, task, plan): return plan

class Second(First):
    id = "a_second"
    priority = PRIORITIES[1]

class Hidden(First):
    id = "hidden"
    enabled_by_default = False

RECIPE_CLASSES = [First, Second, Hidden]
"""

BARE = """
import attrs

@attrs.frozen
class Config:
    pass

class Bare:
    id = "r"
    Config = Config
    def __init__(self, config): ...

RECIPE_CLASSES = [Bare]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "my recipes"
    place.mkdir()
    (place / "__init__.py").write_text(RECIPES)
    (place / "more.py").write_text("PRIORITIES = (-5, 7)\n")
    return place


def ids(enabled=(), *folders):
    return [recipe.id for recipe in choose_recipes(enabled, [str(folder) for folder in folders])]


def test_all_that_are_on_by_default_are_tried_without_a_name():
    assert ids() == BUILT_IN


def test_priority_orders_and_the_id_where_it_is_equal(folder):
    assert ids((), folder) == ["first", *BUILT_IN, "a_second"]


def test_names_leave_only_these_and_bring_in_what_is_not_on_by_default(folder):
    assert ids(["hidden", "a_second"], folder) == ["hidden", "a_second"]
    assert ids(["terminal_bench_2_docker_build"]) == ["terminal_bench_2_docker_build"]


def test_an_unknown_name_is_refused_with_the_known_ones(folder):
    with pytest.raises(
        UsageError, match=r"'firts' is not known; known: a_second, first, hidden, sw"
    ):
        ids(["firts"], folder)


def test_a_folder_is_read_anew_each_time(folder):
    assert "hidden" not in ids((), folder)
    (folder / "more.py").write_text("PRIORITIES = (9, 8)\n")

    assert ids((), folder)[-2:] == ["a_second", "first"]


def test_two_recipes_of_one_id_are_refused(folder, tmp_path):
    (tmp_path / "copy").mkdir()
    for file in folder.glob("*.py"):
        (tmp_path / "copy" / file.name).write_bytes(file.read_bytes())

    with pytest.raises(UsageError, match="copy: there is a recipe 'first' already"):
        ids((), folder, tmp_path / "copy")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no __init__.py in it"),
        ("", "RECIPE_CLASSES must be a list of classes, and not empty"),
        ("RECIPE_CLASSES = []", "RECIPE_CLASSES must be a list"),
        ("RECIPE_CLASSES = [3]", "RECIPE_CLASSES has 3, no class with an id"),
        ("1 / 0", "cannot be imported: ZeroDivisionError: division by zero"),
        ("import a_package_that_nobody_has", "ModuleNotFoundError"),
        ("class R:\n    id = 'r'\nRECIPE_CLASSES = [R]", "recipe 'r': Config: AttributeError"),
        (
            BARE,
            "recipe 'r' lacks apply, description, enabled_by_default, matches, priority",
        ),
    ],
)
def test_what_is_wrong_with_a_folder_is_one_line(tmp_path, text, said):
    if text is not None:
        (tmp_path / "__init__.py").write_text(textwrap.dedent(text))

    with pytest.raises(UsageError) as caught:
        ids((), tmp_path)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_priority_that_cannot_be_compared_is_refused(folder):
    (folder / "more.py").write_text("PRIORITIES = ('high', 1)\n")

    with pytest.raises(PluginFailed, match="priority 'high' is not an integer"):
        ids((), folder)
