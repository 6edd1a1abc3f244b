"""Everything that was configured, from files and keywords, checked source by source."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from agentcompass.config import environment
from agentcompass.config.checks import section_faults
from agentcompass.config.keywords import KEYWORDS, config_paths, keyword_settings
from agentcompass.config.merge import pick
from agentcompass.config.secrets import known_in, masked
from agentcompass.config.sections import SECTIONS, settled
from agentcompass.config.settings import Setting, combine, expand, origin, sources
from agentcompass.config.sources import config_files, file_settings
from agentcompass.errors import ConfigInvalid
from agentcompass.registry import Kind


@attrs.frozen(kw_only=True)
class Gathered:
    """Every setting in the order in which it wins, the tree that they make, and their faults.

    `given` are also those that could not be used, and are told of in `faults`.
    """

    settings: Sequence[Setting]
    given: Sequence[Setting]
    tree: Mapping[str, Any]
    faults: list[str]
    environ: Mapping[str, str]

    def at(self, *path: str) -> Any:
        """What the settings say at `path`; None where they say nothing."""
        return pick(self.tree, path)

    def is_refused(self, *path: str) -> bool:
        """Whether something was said of `path`, and none of it could be used."""
        return self.at(*path) is None and any(setting.holds(path) for setting in self.given)

    def label(self, path: tuple[str, ...], otherwise: str) -> str:
        """How to call what has a part in `path`."""
        return sources(self.settings, path) or otherwise

    def origin(self, *path: str) -> str:
        """How to call the last source that set `path`."""
        return origin(self.settings, path)

    def secrets(self) -> frozenset[str]:
        """The secret values of the settings and of the process's environment."""
        return known_in(self.tree) | known_in(dict(self.environ))

    def told(self) -> list[str]:
        """Every fault once, without the secrets of the settings."""
        secrets = self.secrets() if self.faults else frozenset()
        return [masked(fault, secrets) for fault in dict.fromkeys(self.faults)]

    def check(self) -> None:
        """Raise `ConfigInvalid` if there is any fault."""
        if self.faults:
            raise ConfigInvalid(self.told())


def gather(
    values: Mapping[str, Any],
    ids: Mapping[Kind, str],
    *,
    cwd: Path,
    environ: Mapping[str, str],
    spell: Callable[[str], str],
) -> Gathered:
    """Read the files that apply and the keywords in `values`; `ids` are the chosen components."""
    faults = [f"{spell(name)}: unknown keyword" for name in sorted(values.keys() - KEYWORDS)]
    given = [expand(each, environ, faults) for each in keyword_settings(values, ids, spell)]
    files = configured(config_paths(values), cwd, environ, faults)
    return gathered([*files, *given], faults, environ)


def configured(
    config_path: Sequence[str], cwd: Path, environ: Mapping[str, str], faults: list[str]
) -> list[Setting]:
    """The settings of every file that applies."""
    files = config_files(config_path, cwd=cwd, environ=environ)
    found = [setting for file in files for setting in file_settings(file, faults)]
    return [expand(setting, environ, faults) for setting in found]


def gathered(
    settings: Sequence[Setting], faults: list[str], environ: Mapping[str, str]
) -> Gathered:
    """The settings, in the order in which they win; their references are read already."""
    ready = [setting for each in settings if (setting := _ready(each, faults)) is not None]
    tree = combine(ready)
    faults.extend(section_faults(tree, ready))
    return Gathered(settings=ready, given=settings, tree=tree, faults=faults, environ=environ)


def _ready(setting: Setting, faults: list[str]) -> Setting | None:
    if setting.path[0] in SECTIONS:
        return settled(setting, faults)
    if setting.value is not None and not isinstance(setting.value, Mapping):
        kind = type(setting.value).__name__
        faults.append(f"{setting.label}: expected an object, got {kind}")
        return None
    return (
        environment.spelled_out(setting, faults) if setting.path[0] == "environments" else setting
    )
