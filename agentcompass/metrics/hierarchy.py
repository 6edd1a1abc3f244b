"""The tree of a `category_hierarchy`: read from configuration, and folded into one value."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, cast, get_args

import attrs

from agentcompass.metrics.reducers import mean, weighted_mean

Rule = Literal["leaf", "unweighted", "weighted", "weighted_by_count"]

_KEYS = frozenset({"aggregation", "weight", "children"})


class HierarchyInvalid(ValueError):
    """A `category_hierarchy` cannot be used; the message names the path of the faulty node."""


@attrs.frozen(kw_only=True)
class Node:
    """A category (a leaf has its name) or a group of nodes. `weight` counts in a `weighted` parent.

    `weighted_by_count` weighs children by their evaluated tasks.
    """

    name: str
    rule: Rule
    weight: float = 1.0
    children: tuple["Node", ...] = ()

    def leaves(self) -> Iterator[str]:
        """The categories below, in order."""
        if self.rule == "leaf":
            yield self.name
        for child in self.children:
            yield from child.leaves()


@attrs.frozen(kw_only=True)
class Branch:
    """A node with its tasks. `shares` tell what each category is of `value`; they add up to 1."""

    categories: tuple[str, ...]
    value: float | None
    evaluated: int
    weight: float = 1.0
    shares: Mapping[str, float] = attrs.field(factory=dict)


def parse_hierarchy(tree: Mapping[str, Any]) -> Node:
    """Read `{overall: {aggregation, weight, children}}`; every fault names its path.

    A node without `aggregation` is a leaf, or `unweighted` where it has children. A category may
    occur once, or its tasks would count twice.
    """
    if not isinstance(tree, Mapping) or set(tree) != {"overall"}:
        raise HierarchyInvalid("category_hierarchy has exactly one root, 'overall'")
    root = _node("overall", tree["overall"], "category_hierarchy.overall")
    leaves = list(root.leaves())
    twice = sorted({leaf for leaf in leaves if leaves.count(leaf) > 1})
    if twice:
        raise HierarchyInvalid(f"category_hierarchy has categories in two places: {twice}")
    return root


def require_categories(root: Node, categories: Iterable[str]) -> None:
    """Refuse categories outside the tree: their tasks would leave the score unnoticed."""
    outside = sorted(set(categories) - set(root.leaves()))
    if outside:
        raise HierarchyInvalid(f"category_hierarchy has no leaf for the categories {outside}")


def fold(root: Node, values: Mapping[str, Sequence[float]]) -> dict[str, Branch]:
    """The branch of every node by its path (`overall/math`, `~0` for `~`, `~1` for `/`).

    A node without values has value None and weight 0; the weights of its siblings are
    renormalised. The root is at `overall`.
    """
    branches: dict[str, Branch] = {}
    branches["overall"] = _fold(root, "overall", values, branches)
    return branches


def _node(name: str, raw: Any, path: str) -> Node:
    if not isinstance(raw, Mapping) or not set(raw) <= _KEYS:
        raise HierarchyInvalid(f"{path} is a mapping with keys of {sorted(_KEYS)}, not {raw!r:.80}")
    children = raw.get("children") or {}
    if not isinstance(children, Mapping):
        raise HierarchyInvalid(f"{path}.children is not a mapping: {children!r:.80}")
    rule = _rule(raw.get("aggregation") or ("unweighted" if children else "leaf"), path)
    if (rule == "leaf") == bool(children):
        raise HierarchyInvalid(f"{path}: a leaf has no children, any other node has some")
    return Node(
        name=name,
        rule=rule,
        weight=_weight(raw.get("weight", 1.0), path),
        children=tuple(
            _node(child, below, f"{path}.children.{child}") for child, below in children.items()
        ),
    )


def _rule(raw: Any, path: str) -> Rule:
    for rule in get_args(Rule):
        if raw == rule:
            return cast("Rule", rule)
    raise HierarchyInvalid(f"{path}.aggregation is one of {list(get_args(Rule))}, not {raw!r:.80}")


def _weight(raw: Any, path: str) -> float:
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not 0 < raw < math.inf:
        raise HierarchyInvalid(f"{path}.weight is a finite number above 0, not {raw!r:.80}")
    return float(raw)


def _fold(
    node: Node, path: str, values: Mapping[str, Sequence[float]], branches: dict[str, Branch]
) -> Branch:
    if node.rule == "leaf":
        return _leaf(node.name, values.get(node.name, ()))
    below = []
    for child in node.children:
        child_path = f"{path}/{_escape(child.name)}"
        branch = _fold(child, child_path, values, branches)
        branch = attrs.evolve(branch, weight=_weigh(node.rule, child, branch))
        branches[child_path] = branch
        below.append(branch)
    return _join(below)


def _leaf(category: str, values: Sequence[float]) -> Branch:
    return Branch(
        categories=(category,),
        value=mean(values),
        evaluated=len(values),
        shares={category: 1.0} if values else {},
    )


def _weigh(rule: Rule, child: Node, branch: Branch) -> float:
    if branch.value is None:
        return 0.0
    if rule == "weighted":
        return child.weight
    return float(branch.evaluated) if rule == "weighted_by_count" else 1.0


def _join(branches: Sequence[Branch]) -> Branch:
    total = math.fsum(branch.weight for branch in branches)
    return Branch(
        categories=tuple(name for branch in branches for name in branch.categories),
        value=weighted_mean([(branch.value, branch.weight) for branch in branches]),
        evaluated=sum(branch.evaluated for branch in branches),
        shares={
            category: share * branch.weight / total
            for branch in branches
            for category, share in branch.shares.items()
        },
    )


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
