"""An orchestration as it was written, in a file or in Python: its shape, and its settings."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import attrs

from agentcompass.config.keywords import COMPONENTS
from agentcompass.config.scalars import settle
from agentcompass.config.sections import RuntimeSection
from agentcompass.config.settings import Setting, expand
from agentcompass.config.sources import ConfigFile, content_of
from agentcompass.errors import ConfigInvalid
from agentcompass.records.orchestration import (
    OrchestrationDefaults,
    OrchestrationSpec,
    RunRequestSpec,
    RunRuntimeSpec,
)

Sections = Mapping[str, Mapping[str, Any]]


def _names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in attrs.fields(kind))


SECTIONS = _names(OrchestrationDefaults)
OF_A_REQUEST = _names(RunRuntimeSpec)
OF_THE_PROCESS = (
    *(name for name in _names(RuntimeSection) if name not in OF_A_REQUEST),
    "cleanup_grace_seconds",
)


@attrs.frozen(kw_only=True)
class Written:
    """What a caller wrote; `name` is the file's, empty for Python."""

    content: Any
    name: str = ""

    def at(self, place: str) -> str:
        """How messages call a place in it."""
        return f"{self.name}: {place}" if self.name else place


@attrs.frozen(kw_only=True)
class Asked:
    """`defaults`, or one request: its sections, and how messages call it."""

    where: str
    sections: Sections = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class Outline:
    """An orchestration by its parts; `common` holds what is no single request's."""

    name: str
    common: tuple[Setting, ...]
    defaults: Asked
    requests: Mapping[str, Asked]


def read_orchestration(path: str, *, cwd: Path) -> Written:
    """The content of a YAML or JSON file; raises `ConfigInvalid` where it cannot be read."""
    faults: list[str] = []
    content = content_of(ConfigFile(cwd / path, path), faults)
    if faults:
        raise ConfigInvalid(faults)
    return Written(content=content, name=path)


def written_in_python(spec: OrchestrationSpec | Mapping[str, Any]) -> Written:
    """The same for a spec, which is left as it is; raises `ConfigInvalid` for what is none."""
    if not isinstance(spec, OrchestrationSpec | Mapping):
        wanted = "an OrchestrationSpec, an Orchestration or a mapping"
        raise ConfigInvalid(
            [f"orchestration: expected {wanted}, got {spec!r:.40}; agentcompass launch reads files"]
        )
    try:
        content = plain(spec)
        json.dumps(content, default=repr)
    except (RecursionError, ValueError, TypeError) as error:
        raise ConfigInvalid(
            [f"orchestration: holds itself, or what JSON cannot: {error}"]
        ) from None
    return Written(content=content)


def plain(value: Any) -> Any:
    """A spec as the mapping that a file would hold; a field that is None is not given."""
    if attrs.has(type(value)):
        fields = ((name, getattr(value, name)) for name in _names(type(value)))
        return {name: plain(item) for name, item in fields if item is not None}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


@attrs.define
class Reader:
    """Takes an orchestration apart, noting every fault of its shape."""

    written: Written
    environ: Mapping[str, str]
    faults: list[str]

    def outline(self) -> Outline:
        """The parts of the orchestration, as far as they can be told."""
        at, top = self.written.at, self._object(self.written.content, "", _names(OrchestrationSpec))
        version = settle(top.get("version", 1), int)
        if version != 1 or isinstance(version, bool):
            self.faults.append(f"{at('version')}: must be 1, not {version!r}")
        name = self._text(top.get("name", ""), "name")
        if not isinstance(name, str):
            self.faults.append(f"{at('name')}: expected text, got {name!r}")
        return Outline(
            name=str(name),
            common=tuple(self._common(top)),
            defaults=self._asked(top.get("defaults"), "defaults", SECTIONS)[0],
            requests=self._requests(top.get("requests")),
        )

    def _common(self, top: Mapping[str, Any]) -> list[Setting]:
        at, found = self.written.at, []
        if _is_given(top.get("task_concurrency")):
            label, path = at("task_concurrency"), ("execution", "task_concurrency")
            found.append(Setting(label=label, path=path, value=top["task_concurrency"]))
        runtime = dict(self._object(top.get("runtime"), "runtime", OF_THE_PROCESS))
        name = "cleanup_grace_seconds"
        if name in runtime:
            label, path = at(f"runtime.{name}"), ("execution", name)
            found.append(Setting(label=label, path=path, value=runtime.pop(name)))
        found.append(Setting(label=at("runtime"), path=("runtime",), value=runtime))
        return [expand(setting, self.environ, self.faults) for setting in found]

    def _requests(self, given: Any) -> Mapping[str, Asked]:
        if not isinstance(given, list) or not given:
            self.faults.append(f"{self.written.at('requests')}: expected a list of requests")
            return {}
        found: dict[str, Asked] = {}
        for index, each in enumerate(given):
            asked, name = self._asked(each, f"requests[{index}]", _names(RunRequestSpec))
            if not isinstance(name, str) or not name.strip():
                self.faults.append(f"{asked.where}.name: expected a name that is not empty")
                name = asked.where  # so that its other faults are told as well
            elif name in found:
                self.faults.append(f"{asked.where}.name: {name!r} is the name of two requests")
                name = asked.where
            found[name] = asked
        return found

    def _asked(self, given: Any, place: str, names: Collection[str]) -> tuple[Asked, Any]:
        content = self._object(given, place, names)
        sections = {
            name: self._section(content[name], name, place)
            for name in SECTIONS
            if _is_given(content.get(name))
        }
        asked = Asked(where=self.written.at(place), sections=sections)
        return asked, self._text(content.get("name"), f"{place}.name")

    def _text(self, given: Any, place: str) -> Any:
        setting = Setting(label=self.written.at(place), path=("name",), value=given)
        return settle(expand(setting, self.environ, self.faults).value, str)

    def _section(self, given: Any, name: str, place: str) -> Mapping[str, Any]:
        known = OF_A_REQUEST if name == "runtime" else None
        section = dict(self._object(given, f"{place}.{name}", known))
        where = self.written.at(f"{place}.{name}")
        if name in COMPONENTS and "params" in section:
            del section["params"]
            self.faults.append(f"{where}.params: write the parameters beside id, not in params")
        if name == "execution" and "task_concurrency" in section:
            del section["task_concurrency"]
            self.faults.append(
                f"{where}.task_concurrency: the requests share the slots; set task_concurrency"
                " beside requests"
            )
        setting = Setting(label=where, path=(name,), value=section)
        return expand(setting, self.environ, self.faults).value  # type: ignore[no-any-return]

    def _object(self, given: Any, place: str, known: Collection[str] | None) -> Mapping[str, Any]:
        """`given`, if it is an object of these keys; what is not is noted and left out."""
        if not _is_given(given):
            return {}
        where = self.written.at(place) if place else (self.written.name or "orchestration")
        if not isinstance(given, Mapping):
            kind = type(settle(given, Any)).__name__
            self.faults.append(f"{where}: expected an object, got {kind}")
            return {}
        known = given.keys() if known is None else known
        self.faults.extend(
            f"{where}: unknown key {key}; known: {', '.join(known)}"
            for key in given
            if key not in known
        )
        return {key: value for key, value in given.items() if key in known}


def _is_given(value: Any) -> bool:
    return settle(value, Any) is not None
