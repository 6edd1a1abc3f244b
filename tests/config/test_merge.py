"""Layers of settings: deep, associative, and without a trace on their inputs."""

from copy import deepcopy

from hypothesis import example, given
from hypothesis import strategies as st

from agentcompass.config.merge import merge, merged, nest, pick

_keys = st.sampled_from("ab")
_scalars = st.none() | st.integers(0, 1)
_values = st.recursive(
    _scalars | st.lists(_scalars, max_size=2),
    lambda inner: st.dictionaries(_keys, inner, max_size=3),
    max_leaves=8,
)
_layers = st.dictionaries(_keys, _values, max_size=3)


@given(_layers, _layers, _layers)
@example({"a": {"b": 1}}, {"a": 0}, {"a": {"c": 1}})
def test_merging_is_associative(first, second, third):
    """Fails without `Whole`: {a: {b: 1}}, {a: 0}, {a: {c: 1}} then depends on the grouping."""
    assert merge(merge(first, second), third) == merge(first, merge(second, third))


@given(_layers, _layers)
def test_every_scalar_of_the_later_layer_stands(lower, upper):
    """Fails when `merge` prefers `lower`."""
    result = merge(lower, upper)

    for path, value in _leaves(upper):
        assert pick(result, path) == value


@given(_layers, _layers)
def test_what_the_later_layer_does_not_touch_stays(lower, upper):
    result = merge(lower, upper)

    for key in lower.keys() - upper.keys():
        assert result[key] == lower[key]
    assert result.keys() == lower.keys() | upper.keys()


@given(_layers, _layers)
def test_merging_changes_neither_layer(lower, upper):
    before = deepcopy((lower, upper))

    merge(lower, upper)

    assert (lower, upper) == before


@given(_layers)
def test_an_empty_layer_changes_nothing(layer):
    assert merge({}, layer) == layer
    assert merge(layer, {}) == layer


def test_lists_are_replaced():
    assert merged({"a": [1, 2]}, {"a": [3]}) == {"a": [3]}


def test_null_forgets_what_lay_below():
    assert merged({"a": {"b": 1}}, {"a": None}, {"a": {"c": 2}}) == {"a": {"c": 2}}


def test_nest_and_pick_are_opposites():
    assert nest(("a", "b"), 1) == {"a": {"b": 1}}
    assert pick(nest(("a", "b"), 1), ("a", "b")) == 1
    assert pick({"a": 1}, ("a", "b"), "none") == "none"


def _leaves(value, path=()):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    else:
        yield path, value
