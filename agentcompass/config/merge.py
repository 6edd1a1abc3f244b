"""Layers of settings become one: mappings deeply, everything else replaced by the later layer."""

from collections.abc import Mapping
from typing import Any


class Whole(dict[str, Any]):
    """A mapping that was laid over a null or a scalar: nothing below it shows through.

    Without this mark, merging would depend on which two of three layers are merged first.
    """


def merge(lower: Any, upper: Any) -> Any:
    """`upper` laid over `lower`: associative, neither is changed, lists are replaced."""
    if not isinstance(upper, Mapping) or isinstance(upper, Whole):
        return upper
    if not isinstance(lower, Mapping):
        return Whole(upper)
    result = Whole(lower) if isinstance(lower, Whole) else dict(lower)
    for key, value in upper.items():
        result[key] = merge(lower[key], value) if key in lower else value
    return result


def merged(*layers: Mapping[str, Any]) -> Mapping[str, Any]:
    """Every layer in turn over those before it."""
    result: Any = {}
    for layer in layers:
        result = merge(result, layer)
    return result  # type: ignore[no-any-return]


def nest(path: tuple[str, ...], value: Any) -> Any:
    """`value` as it stands in the tree: `(a, b)`, 1 is `{a: {b: 1}}`."""
    for key in reversed(path):
        value = {key: value}
    return value


def pick(tree: Any, path: tuple[str, ...], default: Any = None) -> Any:
    """What stands at `path`, or `default` where nothing does."""
    for key in path:
        if not isinstance(tree, Mapping) or key not in tree:
            return default
        tree = tree[key]
    return tree
