"""Configuration files: where they are, and what they say, as settings."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import attrs

from agentcompass.config import strict_json
from agentcompass.config.keywords import COMPONENTS
from agentcompass.config.settings import Setting

SECTIONS = (*COMPONENTS.values(), "execution", "runtime")


class ConfigFile(NamedTuple):
    """A file to read, and how messages call it."""

    path: Path
    name: str


def config_files(
    explicit: Sequence[str], *, cwd: Path, environ: Mapping[str, str]
) -> list[ConfigFile]:
    """The files that apply, later ones winning: the user's, the project's, then `explicit`.

    A file that is named twice counts once, at its last place.
    """
    implied = [path for path in (_user_file(environ), _project_file(cwd)) if path is not None]
    found = [ConfigFile(path, _name(path, cwd)) for path in implied]
    found += [ConfigFile(cwd / path, path) for path in explicit]
    last: dict[str, ConfigFile] = {}
    for file in found:
        last.pop(os.path.realpath(file.path), None)
        last[os.path.realpath(file.path)] = file
    return list(last.values())


def file_settings(file: ConfigFile, faults: list[str]) -> list[Setting]:
    """What one file says; what it cannot say is noted, with its place."""
    from agentcompass.config import yaml_text  # most runs have no file

    text = _read(file, faults)
    content = None if text is None else _parsed(file, text, faults)
    if text is None or content is None:
        return []
    if not isinstance(content, Mapping):
        faults.append(f"{file.name}: expected sections, got {type(content).__name__}")
        return []
    lines = yaml_text.lines(text)
    return [
        moved
        for section, value in content.items()
        for setting in _section_settings(file.name, section, value, faults)
        for moved in _moved(attrs.evolve(setting, file=file.name, lines=lines))
    ]


def content_of(file: ConfigFile, faults: list[str]) -> Any:
    """What a file holds, scalars as they are written; None where that cannot be read."""
    text = _read(file, faults)
    return None if text is None else _parsed(file, text, faults)


def _name(path: Path, cwd: Path) -> str:
    return path.name if path.parent == cwd else str(path)


def _user_file(environ: Mapping[str, str]) -> Path | None:
    base = environ.get("XDG_CONFIG_HOME", "")
    home = environ.get("HOME", "")
    if not Path(base).is_absolute():
        if not home:
            return None
        base = f"{home}/.config"
    path = Path(base) / "agentcompass" / "config.yaml"
    return path if path.is_file() else None


def _project_file(cwd: Path) -> Path | None:
    candidates = (folder / "config.yaml" for folder in (cwd, *cwd.parents))
    return next((path for path in candidates if path.is_file()), None)


def _read(file: ConfigFile, faults: list[str]) -> str | None:
    try:
        return file.path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        faults.append(f"{file.name}: not UTF-8 at byte {error.start}")
    except OSError as error:
        faults.append(f"{file.name}: cannot be read: {error.strerror}")
    return None


def _parsed(file: ConfigFile, text: str, faults: list[str]) -> Any:
    from agentcompass.config import yaml_text

    parse = strict_json.parse if file.path.suffix == ".json" else yaml_text.parse
    try:
        return parse(text)
    except (strict_json.JsonInvalid, yaml_text.YamlInvalid) as error:
        faults.append(f"{file.name}: {error}")
    return None


def _section_settings(name: str, section: str, value: Any, faults: list[str]) -> list[Setting]:
    label = f"{name}: {section}"
    if section not in SECTIONS:
        faults.append(f"{name}: unknown section {section}; known: {', '.join(SECTIONS)}")
        return []
    value = getattr(value, "value", value)  # an empty section is an unquoted empty scalar
    if value is None:
        return []
    if not isinstance(value, Mapping):
        faults.append(f"{label}: expected an object, got {type(value).__name__}")
        return []
    if section in COMPONENTS.values():
        return [_component_setting(label, section, id_, item) for id_, item in value.items()]
    return [Setting(label=label, path=(section,), value=value)]


def _component_setting(label: str, section: str, name: str, params: Any) -> Setting:
    """The parameters of one component; null forgets what earlier files said of it."""
    params = getattr(params, "value", params)
    return Setting(label=f"{label}.{name}", path=(section, name), value=params)


def _moved(setting: Setting) -> list[Setting]:
    """`runtime.cleanup_grace_seconds` is also read, for files that were written for it there."""
    name = "cleanup_grace_seconds"
    if setting.path != ("runtime",) or name not in setting.value:
        return [setting]
    rest = {key: value for key, value in setting.value.items() if key != name}
    path, value = ("execution", name), setting.value[name]
    alone = attrs.evolve(setting, label=f"{setting.label}.{name}", path=path, value=value)
    return [attrs.evolve(setting, value=rest), alone.also_at(path, ("runtime", name))]
