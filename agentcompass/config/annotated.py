"""A configuration with the origin of each value: as YAML with comments, or as a list."""

from collections.abc import Callable, Iterator, Mapping
from textwrap import indent
from typing import Any

from agentcompass.config.origins import DEFAULT, origin_at
from agentcompass.config.yaml_text import dump

Path = tuple[str, ...]


def as_yaml(tree: Mapping[str, Any], origins: Mapping[str, Any]) -> str:
    """`tree` as YAML with a comment at each value: its file and line, or `default`."""
    return "\n".join(_commented(tree, lambda path: origin_at(origins, path) or DEFAULT))


def as_list(tree: Mapping[str, Any], origins: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every value as `{path, value, origin, file, line}`; the last two are null if not known."""
    return [_entry(path, value, origins) for path, value in _values(tree)]


def _entry(path: Path, value: Any, origins: Mapping[str, Any]) -> dict[str, Any]:
    found = origin_at(origins, path)
    return {
        "path": list(path),
        "value": value,
        "origin": str(found or DEFAULT),
        "file": found and found.file,
        "line": found and found.line,
    }


def _values(tree: Mapping[str, Any], above: Path = ()) -> Iterator[tuple[Path, Any]]:
    for key, value in tree.items():
        path = (*above, key)
        if isinstance(value, Mapping) and value:
            yield from _values(value, path)
        else:
            yield path, value


def _commented(
    tree: Mapping[str, Any], says: Callable[[Path], object], above: Path = ()
) -> Iterator[str]:
    for key, value in tree.items():
        path = (*above, key)
        if isinstance(value, Mapping) and value:
            yield dump({key: {}}).removesuffix(" {}\n")
            yield from (indent(text, "  ") for text in _commented(value, says, path))
        else:
            yield _with_comment(dump({key: value}).rstrip("\n"), str(says(path)), value)


def _with_comment(text: str, comment: str, value: Any) -> str:
    """At the end of the first line, unless a text goes on behind it."""
    first, more, rest = text.partition("\n")
    if more and not isinstance(value, list):
        return f"# {comment}\n{text}"
    return f"{first}  # {comment}{more}{rest}"
