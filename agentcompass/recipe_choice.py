"""Which recipes a request tries, and in which order: built in, installed, and from folders."""

import hashlib
import logging
import sys
from collections.abc import Iterator, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from agentcompass.config.components import component_class, make
from agentcompass.errors import ConfigInvalid, PluginFailed, UnknownComponent, UsageError
from agentcompass.plugin_edge import plugin_edge
from agentcompass.protocols import Recipe
from agentcompass.registry import known

log = logging.getLogger(__name__)


def choose_recipes(enabled: Sequence[str], folders: Sequence[str]) -> tuple[Recipe, ...]:
    """The recipes of ids `enabled`, or all that are on by default, as they are to be tried.

    `folders` are trusted packages of further recipes. Raises `UsageError` for an id that is not
    known or that two recipes have, and for a recipe that is asked for and cannot be loaded.
    """
    brought = _from_folders(folders)
    names = {*known("recipe"), *brought}
    if unknown := [name for name in enabled if name not in names]:
        listing = ", ".join(sorted(names)) or "none"
        raise UnknownComponent(f"--recipe: recipe {unknown[0]!r} is not known; known: {listing}")
    found = [*_known(enabled), *brought.values()]
    recipes = [_made(recipe) for recipe in found if _is_on(recipe, enabled)]
    return tuple(sorted(recipes, key=lambda recipe: (recipe.priority, recipe.id)))


def _made(recipe: type[Any]) -> Recipe:
    name = f"recipe {recipe.id!r}"
    with plugin_edge(f"{name}: Config"):
        settings = recipe.Config()
    made: Recipe = make("recipe", recipe.id, recipe, settings)
    if not isinstance(made.priority, int):
        raise PluginFailed(f"{name}: priority {made.priority!r} is not an integer")
    return made


def _is_on(recipe: type[Any], enabled: Sequence[str]) -> bool:
    if enabled:
        return recipe.id in enabled
    return bool(getattr(recipe, "enabled_by_default", True))


def _known(enabled: Sequence[str]) -> Iterator[type[Any]]:
    """Of those that nobody asked for, one that cannot be imported is passed over, and logged."""
    for name in known("recipe"):
        if enabled and name not in enabled:
            continue
        try:
            yield component_class("recipe", name)
        except UsageError as error:
            if name in enabled:
                raise
            log.warning("%s", error)


def _from_folders(folders: Sequence[str]) -> dict[str, type[Any]]:
    found: dict[str, type[Any]] = {}
    for folder in folders:
        for recipe in _classes(Path(folder)):
            if recipe.id in found or recipe.id in known("recipe"):
                raise ConfigInvalid(
                    [f"--recipe-dir {folder}: there is a recipe {recipe.id!r} already"]
                )
            found[recipe.id] = recipe
    return found


def _classes(folder: Path) -> Sequence[type[Any]]:
    place = f"--recipe-dir {folder}"
    if not (folder / "__init__.py").is_file():
        raise ConfigInvalid([f"{place}: there is no __init__.py in it"])
    with plugin_edge(f"{place} cannot be imported"):
        found = getattr(_imported(folder.resolve()), "RECIPE_CLASSES", None)
    if not isinstance(found, list | tuple) or not found:
        raise ConfigInvalid([f"{place}: RECIPE_CLASSES must be a list of classes, and not empty"])
    for recipe in found:
        if not isinstance(recipe, type) or not isinstance(getattr(recipe, "id", None), str):
            raise ConfigInvalid([f"{place}: RECIPE_CLASSES has {recipe!r}, no class with an id"])
    return found


def _imported(folder: Path) -> ModuleType:
    """The package, imported anew under a name that nobody else imports; submodules work."""
    name = f"_agentcompass_recipes_{hashlib.sha256(bytes(folder)).hexdigest()[:16]}"
    _forget(name, sys.modules)
    spec = spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        _forget(name, sys.modules)
        raise
    return module


def _forget(name: str, modules: dict[str, ModuleType]) -> None:
    for module in [m for m in modules if m == name or m.startswith(f"{name}.")]:
        del modules[module]
