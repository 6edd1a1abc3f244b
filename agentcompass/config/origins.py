"""Where each value of a merged configuration comes from."""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from agentcompass.config.merge import merged, nest, pick
from agentcompass.config.settings import Setting

DEFAULT = "default"


@attrs.frozen(kw_only=True)
class Origin:
    """What set a value: an option or keyword, or a file, with the line where that is known."""

    label: str
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        if self.file is None:
            return self.label
        return self.file if self.line is None else f"{self.file}:{self.line}"


def origins(settings: Sequence[Setting]) -> Mapping[str, Any]:
    """The merged tree of `settings`, with the `Origin` of each value in its place.

    Merged as the values themselves are, so that what a later source has replaced is forgotten.
    """
    return merged(*(nest(each.path, _marked(each, each.path, each.value)) for each in settings))


def origin_at(tree: Mapping[str, Any], path: tuple[str, ...]) -> Origin | None:
    """The origin of what stands at `path`; None for what no source has set, a default."""
    found = pick(tree, path)
    return found if isinstance(found, Origin) else None


def _marked(setting: Setting, path: tuple[str, ...], value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _marked(setting, (*path, key), item) for key, item in value.items()}
    if not setting.file:
        return Origin(label=setting.label)
    return Origin(label=setting.label, file=setting.file, line=_line(setting, path))


def _line(setting: Setting, path: tuple[str, ...]) -> int | None:
    """The line of `path`, or of what it stands in: a value from the environment has none below."""
    above = (path[:end] for end in range(len(path), 0, -1))
    return next((setting.lines[each] for each in above if each in setting.lines), None)
