"""One setting: a value, its place in the configuration, and what its source is called."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from agentcompass.config.merge import merged, nest, pick
from agentcompass.config.scalars import Plain

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PLACE = re.compile(r"(\.[\w.]+)|: (?:unknown key |')?(\w+)")
_MISSING = object()


@attrs.frozen(kw_only=True)
class Setting:
    """`value` at `path`; `label` is an option, a keyword, or a file and its section.

    Of a file, `file` is its name and `lines` where in it the paths begin that it sets.
    """

    label: str
    path: tuple[str, ...]
    value: Any
    file: str = ""
    lines: Mapping[tuple[str, ...], int] = attrs.field(factory=dict, repr=False)

    def also_at(self, path: tuple[str, ...], written: tuple[str, ...]) -> "Setting":
        """The setting, told that `path` is in its file where `written` stands."""
        if written not in self.lines:
            return self
        return attrs.evolve(self, lines={**self.lines, path: self.lines[written]})

    def tree(self) -> Mapping[str, Any]:
        """The value where it stands, ready to be merged."""
        return nest(self.path, self.value)  # type: ignore[no-any-return]

    def holds(self, path: tuple[str, ...]) -> bool:
        """Whether this setting says something about `path`."""
        return pick(self.tree(), path, _MISSING) is not _MISSING


def combine(settings: Sequence[Setting]) -> Mapping[str, Any]:
    """The tree of all settings, later ones winning."""
    return merged(*(setting.tree() for setting in settings))


def origin(settings: Sequence[Setting], path: tuple[str, ...]) -> str:
    """How to call the last source that set `path`: `--k`, `config.yaml: execution.k`."""
    for setting in reversed(settings):
        if setting.holds(path):
            return ".".join((setting.label, *path[len(setting.path) :]))
    return ".".join(path)


def sources(settings: Sequence[Setting], path: tuple[str, ...]) -> str:
    """How to call everything that has a part in `path`, in order, each once."""
    labels = dict.fromkeys(setting.label for setting in settings if setting.holds(path))
    return " and ".join(labels)


def located(fault: str, settings: Sequence[Setting], path: tuple[str, ...], label: str) -> str:
    """`fault`, which begins with a place below `path`, under the source that set that place.

    `label` is for what no source has set.
    """
    field = _PLACE.match(fault)
    names = tuple(re.findall(r"\w+", field[1] or field[2] or "")) if field else ()
    for end in range(len(names), 0, -1):
        place = (*path, *names[:end])
        if any(setting.holds(place) for setting in settings):
            rest = fault.removeprefix("".join(f".{name}" for name in names[:end]))
            return origin(settings, place) + rest
    return label + fault


def expand(setting: Setting, environ: Mapping[str, str], faults: list[str]) -> Setting:
    """The setting with every text that is `${NAME}` and nothing else read from `environ`.

    Text around a reference leaves it alone: shell commands and messages may hold `${...}`.
    """
    return attrs.evolve(setting, value=_expanded(setting.value, setting.label, environ, faults))


def _expanded(value: Any, place: str, environ: Mapping[str, str], faults: list[str]) -> Any:
    if isinstance(value, Mapping):
        return {k: _expanded(item, f"{place}.{k}", environ, faults) for k, item in value.items()}
    if isinstance(value, list | tuple):
        return [_expanded(item, f"{place}[{i}]", environ, faults) for i, item in enumerate(value)]
    text = getattr(value, "text", value)
    found = _REFERENCE.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return value
    if found[1] not in environ:
        faults.append(f"{place}: the environment has no {found[1]}")
        return value
    return Plain(environ[found[1]], reference=True)


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every scalar of a tree with its path; list items have the path of their list."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from leaves(item, (*path, str(key)))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item, path)
    else:
        yield path, value
