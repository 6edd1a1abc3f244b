"""What settings of the right type can still ask in vain, and what a later version brings."""

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from agentcompass.config.components import is_planned_or_known
from agentcompass.config.merge import pick
from agentcompass.config.settings import Setting, origin
from agentcompass.registry import known

# What is asked for by a value other than "off", and is refused until it is there.
_LATER: Mapping[tuple[str, ...], str] = {
    ("execution", "analysis_params"): "choosing analyzers",
}


def section_faults(tree: Mapping[str, Any], settings: Sequence[Setting]) -> Iterator[str]:
    """The faults of the merged sections `execution` and `runtime`, each under its source."""
    yield from _later(tree, settings)
    yield from _reuse(tree, settings)
    yield from _patterns(tree, settings)
    yield from _delays(tree, settings)
    yield from _recipes(tree, settings)
    yield from _artifacts(tree, settings)
    yield from _providers(tree, settings)


def _later(tree: Mapping[str, Any], settings: Sequence[Setting]) -> Iterator[str]:
    for path, what in _LATER.items():
        if pick(tree, path):
            yield f"{origin(settings, path)}: {what} is not in this version yet"


def _reuse(tree: Mapping[str, Any], settings: Sequence[Setting]) -> Iterator[str]:
    path = ("runtime", "reuse_run_id")
    if pick(tree, path) and pick(tree, ("runtime", "reuse")) is None:
        yield f"{origin(settings, path)}: names the run to reuse; ask for that with reuse as well"


def _patterns(tree: Mapping[str, Any], settings: Sequence[Setting]) -> Iterator[str]:
    path = ("execution", "retry_pattern_list")
    for pattern in pick(tree, path) or ():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                re.compile(pattern)
        except re.error as error:
            label = origin(settings, path)
            yield f"{label}: {pattern!r} is not a regular expression: {error}"


def _delays(tree: Mapping[str, Any], settings: Sequence[Setting]) -> Iterator[str]:
    path = ("execution", "retry_min_delay_seconds")
    least, most = pick(tree, path), pick(tree, ("execution", "retry_max_delay_seconds"))
    if least is not None and most is not None and least > most:
        label = origin(settings, path)
        yield f"{label}: {least:g} s is more than retry_max_delay_seconds, {most:g}"


def _recipes(tree: Mapping[str, Any], settings: Sequence[Setting]) -> Iterator[str]:
    path = ("execution", "enabled_recipes")
    wanted = pick(tree, path) or ()
    if pick(tree, ("runtime", "recipe_dirs")):
        return  # what they hold is known once they are loaded
    names = known("recipe") if wanted else {}
    for recipe in wanted:
        if recipe not in names:
            label = origin(settings, path)
            yield f"{label}: recipe {recipe!r} is not known; known: {', '.join(names) or 'none'}"


def _artifacts(tree: Mapping[str, Any], settings: Sequence[Setting]) -> Iterator[str]:
    path = ("execution", "artifacts")
    for entry in pick(tree, path) or ():
        source, destination = PurePosixPath(entry["source"]), entry.get("destination") or ""
        if not source.is_absolute():
            yield f"{origin(settings, path)}: the source {entry['source']!r} must be absolute"
        if destination.startswith("/") or ".." in PurePosixPath(destination).parts:
            yield f"{origin(settings, path)}: the destination {destination!r} must be inside"


def _providers(tree: Mapping[str, Any], settings: Sequence[Setting]) -> Iterator[str]:
    for name in ("provider_limits", "env_open_qps"):
        path = ("runtime", name)
        for provider in pick(tree, path) or ():
            if not is_planned_or_known("environment", provider):
                label = origin(settings, (*path, provider))
                ids = ", ".join(known("environment"))
                yield f"{label}: environment {provider!r} is not known; known: {ids}"
