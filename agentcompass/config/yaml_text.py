"""The one place that reads and writes YAML: scalars stay as written, keys are unique."""

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import yaml
from yaml.constructor import ConstructorError
from yaml.nodes import MappingNode, Node, ScalarNode

from agentcompass.config.scalars import Plain

_TEXT = "tag:yaml.org,2002:str"
_MERGE = "tag:yaml.org,2002:merge"


# How many values aliases may repeat: a few lines of them can stand for billions.
_MOST_REPEATED = 100_000


class YamlInvalid(ValueError):
    """The text is not YAML that can be used; says where."""


class _Loader(yaml.SafeLoader):
    """A safe loader that resolves no scalar by itself, except `<<`."""

    def get_single_node(self) -> Node | None:
        root: Node | None = super().get_single_node()
        sizes: dict[int, int] = {}
        if root is not None and _size(root, sizes) - len(sizes) > _MOST_REPEATED:
            problem = f"its aliases repeat more than {_MOST_REPEATED} values"
            raise ConstructorError(None, None, problem, root.start_mark)
        return root

    def text(self, node: ScalarNode) -> Plain | str:
        return Plain(node.value) if node.style is None else str(node.value)

    def mapping(self, node: MappingNode) -> dict[str, Any]:
        _refuse_duplicates(node)
        self.flatten_mapping(node)
        return {key.value: self.construct_object(value, deep=True) for key, value in node.value}

    def sequence(self, node: Node) -> list[Any]:
        return [self.construct_object(item, deep=True) for item in node.value]

    def refuse(self, node: Node) -> Any:
        raise ConstructorError(None, None, f"the tag {node.tag} is not read", node.start_mark)


_Loader.yaml_implicit_resolvers = {"<": [(_MERGE, re.compile("<<"))]}
_Loader.yaml_constructors = {
    _TEXT: _Loader.text,
    "tag:yaml.org,2002:map": _Loader.mapping,
    "tag:yaml.org,2002:seq": _Loader.sequence,
    None: _Loader.refuse,
}


class _Dumper(yaml.SafeDumper):
    """A safe dumper that also quotes what only YAML 1.2 takes for a number: `1e5`."""

    def text(self, text: str) -> ScalarNode:
        style = None if Plain(text).value == text else "'"
        return self.represent_scalar(_TEXT, text, style=style)


_Dumper.add_representer(str, _Dumper.text)


def _size(node: Node, sizes: dict[int, int]) -> int:
    """How many nodes `node` stands for, itself included; each is gone through once."""
    if id(node) not in sizes:
        sizes[id(node)] = 1  # for a node that holds itself, which is refused elsewhere
        below = () if isinstance(node, ScalarNode) else node.value
        if isinstance(node, MappingNode):
            below = chain.from_iterable(below)
        sizes[id(node)] += sum(_size(each, sizes) for each in below)
    return sizes[id(node)]


def _refuse_duplicates(node: MappingNode) -> None:
    seen: set[str] = set()
    for key, _ in node.value:
        if not isinstance(key, ScalarNode):
            raise ConstructorError(None, None, "a key must be text", key.start_mark)
        if key.value in seen and key.tag != _MERGE:
            raise ConstructorError(None, None, f"duplicate key {key.value}", key.start_mark)
        seen.add(key.value)


def parse(text: str) -> Any:
    """One YAML document with `Plain` for each unquoted scalar; None where it is empty."""
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader with fewer tags
    except yaml.YAMLError as error:
        raise YamlInvalid(_one_line(error)) from None
    except RecursionError:
        raise YamlInvalid("nested too deeply") from None


def lines(text: str) -> dict[tuple[str, ...], int]:
    """The line, from 1, of every path of the mappings in `text`; nothing where that is not told.

    Of JSON as well, in which a tab stands between tokens only.
    """
    loader = _Loader(text.replace("\t", " "))
    try:
        root = loader.get_single_node()
        if root is None:
            return {}
        loader.construct_document(root)  # puts in what `<<` refers to
    except (yaml.YAMLError, RecursionError):
        return {}
    return dict(_lines(root, ()))


def _lines(node: Node, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int]]:
    if not isinstance(node, MappingNode):
        return
    for key, value in node.value:
        below = (*path, key.value)
        yield below, key.start_mark.line + 1
        yield from _lines(value, below)


def dump(value: Mapping[str, Any]) -> str:
    """`value` as YAML that `parse` reads back, in its own order."""
    return yaml.dump(value, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=1000)


def _one_line(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or " ".join(str(error).split())
    return f"line {mark.line + 1} column {mark.column + 1}: {problem}" if mark else str(problem)
