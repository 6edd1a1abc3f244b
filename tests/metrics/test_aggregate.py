"""The three ways from tasks to a run, on examples worked by hand."""

import pytest

from agentcompass.metrics.aggregate import aggregator, category_mean, micro_weighted

VALUES = {"a": [1.0, 1.0, 0.0, 0.0], "b": [1.0], "c": []}


def test_micro_weighs_a_category_by_its_evaluated_tasks():
    found = micro_weighted(VALUES)

    assert found.value == 0.6
    assert found.weights == {"a": 4.0, "b": 1.0, "c": 0.0}
    assert found.shares == {"a": 0.8, "b": 0.2}


def test_category_mean_weighs_categories_that_have_a_value_the_same():
    found = category_mean(VALUES)

    assert found.value == 0.75
    assert found.weights == {"a": 1.0, "b": 1.0, "c": 0.0}
    assert found.shares == {"a": 0.5, "b": 0.5}


def test_a_hierarchy_weighs_a_category_by_its_share_of_the_root_and_overrides_the_mode():
    tree = {"overall": {"aggregation": "weighted", "children": {"a": {"weight": 3}, "b": {}}}}

    name, aggregate = aggregator("category_mean", tree)
    found = aggregate(VALUES)

    assert name == "category_hierarchy"
    assert found.value == 0.625
    assert found.weights == {"a": 0.75, "b": 0.25, "c": 0.0}


@pytest.mark.parametrize("values", [{}, {"a": []}])
def test_nothing_observed_has_no_value(values):
    for aggregate in (micro_weighted, category_mean):
        assert aggregate(values).value is None
        assert aggregate(values).shares == {}


def test_an_unknown_aggregation_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"'median' is not one of \['category_mean', 'micro_w"):
        aggregator("median", None)
