"""The tree of categories: what is refused, and how weights are shared."""

import pytest

from agentcompass.metrics.hierarchy import (
    HierarchyInvalid,
    fold,
    parse_hierarchy,
    require_categories,
)


def overall(aggregation, **children):
    return {"overall": {"aggregation": aggregation, "children": children}}


@pytest.mark.parametrize(
    ("tree", "fault"),
    [
        ({}, "exactly one root, 'overall'"),
        ({"overall": {}, "more": {}}, "exactly one root, 'overall'"),
        (overall("unweighted"), "overall: a leaf has no children, any other node has some"),
        (overall("leaf", a={}), "overall: a leaf has no children"),
        (overall("mean", a={}), r"overall\.aggregation is one of .* not 'mean'"),
        (overall("weighted", a={"weight": 0}), r"children\.a\.weight is a finite number above 0"),
        (overall("weighted", a={"weight": True}), r"children\.a\.weight"),
        (overall("weighted", a={"weight": float("inf")}), r"children\.a\.weight"),
        (overall("weighted", a={"wieght": 2}), r"children\.a is a mapping with keys of"),
        (overall("weighted", a=3), r"children\.a is a mapping"),
        ({"overall": {"children": ["a"]}}, r"overall\.children is not a mapping"),
        (overall("unweighted", a={}, g={"children": {"a": {}}}), r"two places: \['a'\]"),
    ],
)
def test_a_tree_that_cannot_be_used_is_refused_by_path(tree, fault):
    with pytest.raises(HierarchyInvalid, match=fault):
        parse_hierarchy(tree)


def test_a_category_outside_the_tree_is_refused():
    root = parse_hierarchy(overall("unweighted", a={}))

    require_categories(root, ["a"])
    with pytest.raises(HierarchyInvalid, match=r"no leaf for the categories \['b'\]"):
        require_categories(root, ["a", "b"])


@pytest.mark.parametrize(
    ("aggregation", "value"),
    [("unweighted", 0.5), ("weighted", 0.8), ("weighted_by_count", 0.25)],
)
def test_each_rule_weighs_children_its_way(aggregation, value):
    root = parse_hierarchy(overall(aggregation, a={"weight": 4}, b={}))

    assert fold(root, {"a": [1.0], "b": [0.0, 0.0, 0.0]})["overall"].value == value


def test_a_node_without_values_is_left_out_and_its_siblings_share_its_weight():
    root = parse_hierarchy(overall("weighted", a={"weight": 2}, b={"weight": 2}, c={"weight": 6}))

    branches = fold(root, {"a": [1.0], "b": [0.0]})

    assert branches["overall"].value == 0.5
    assert branches["overall"].shares == {"a": 0.5, "b": 0.5}
    assert (branches["overall/c"].value, branches["overall/c"].weight) == (None, 0.0)


def test_a_group_weighs_in_its_parent_and_shares_add_up():
    group = {"weight": 3, "aggregation": "weighted_by_count", "children": {"b": {}, "c": {}}}
    root = parse_hierarchy(overall("weighted", a={}, g=group))

    top = fold(root, {"a": [0.0], "b": [1.0, 1.0], "c": [0.0]})["overall"]

    assert top.value == pytest.approx(3 / 4 * 2 / 3)
    assert top.shares == pytest.approx({"a": 1 / 4, "b": 1 / 2, "c": 1 / 4})


def test_slashes_and_tildes_in_names_do_not_make_paths():
    root = parse_hierarchy(overall("unweighted", **{"a/b~c": {}}))

    assert set(fold(root, {})) == {"overall", "overall/a~1b~0c"}


def test_a_tree_without_any_value_has_none():
    root = parse_hierarchy(overall("weighted", a={}, b={}))

    assert fold(root, {})["overall"].value is None
