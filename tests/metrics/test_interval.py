"""Intervals against published numbers, and what must hold of any."""

import math
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.metrics.aggregate import category_mean, micro_weighted
from agentcompass.metrics.interval import (
    _Z,
    LEVEL,
    confidence_interval,
    missing_interval,
    student,
    t_quantile,
    wilson,
)


def test_the_number_in_the_code_is_that_of_the_normal_distribution():
    assert NormalDist().inv_cdf((1 + LEVEL) / 2) == _Z


@pytest.mark.parametrize(
    ("successes", "tasks", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_gives_the_published_intervals(successes, tasks, low, high):
    """Newcombe, Statistics in Medicine 17, 1998, table I, method 3."""
    assert wilson(successes, tasks) == pytest.approx((low, high), abs=5e-5)


@given(st.data())
def test_wilson_holds_its_share_and_mirrors(data):
    """Fails without the middle's shift by z^2 / 2n."""
    tasks = data.draw(st.integers(1, 10_000))
    successes = data.draw(st.integers(0, tasks))

    low, high = wilson(successes, tasks)

    assert 0 <= low <= successes / tasks <= high <= 1
    assert low < high
    assert wilson(tasks - successes, tasks) == pytest.approx((1 - high, 1 - low), abs=1e-12)


@pytest.mark.parametrize(
    ("freedom", "t"),
    [
        (1, 12.706),
        (2, 4.303),
        (3, 3.182),
        (4, 2.776),
        (5, 2.571),
        (10, 2.228),
        (29, 2.045),
        (30, 2.042),
        (60, 2.000),
        (100, 1.984),
        (120, 1.980),
        (10**6, 1.960),
    ],
)
def test_t_quantiles_are_those_of_the_tables(freedom, t):
    """NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, column 0.975."""
    assert t_quantile(freedom) == pytest.approx(t, abs=5e-4)


def test_the_two_ways_to_a_t_quantile_meet():
    steps = [t_quantile(99) - t_quantile(100), t_quantile(100) - t_quantile(101)]

    assert steps[0] == pytest.approx(steps[1], rel=0.05)


def test_student_gives_the_textbook_interval():
    # mean 2, s 1, n 3: 2 +- 4.302653 / sqrt(3)
    assert student([[1.0, 2.0, 3.0]], [1.0]) == pytest.approx((-0.484138, 4.484138), abs=1e-6)


@pytest.mark.parametrize("strata", [[], [[]], [[1.0]], [[0.0, 0.0]], [[2.5] * 4], [[0.1] * 3]])
def test_no_interval_where_no_spread_was_seen(strata):
    assert student(strata, [1.0] * len(strata)) is None


def test_values_near_the_largest_float_break_nothing():
    values = {"c": [1.7e308, -1.7e308, 0.0]}

    assert confidence_interval(values, {"c": 1.0}, "scalar", stratified=False) is None


def test_the_method_follows_the_values():
    def method(values, kind="binary_success", *, stratified=False):
        shares = {name: 1 / len(values) for name in values}
        found = confidence_interval(values, shares, kind, stratified=stratified)
        return found and found["method"]

    assert method({"c": [1.0]}) == "wilson"
    assert method({"c": [1.0, 0.5]}) == "student_t"
    assert method({"c": [1.0, 0.0]}, "scalar") == "student_t"
    assert method({"c": [1.0, 0.0], "d": [1.0, 1.0]}, stratified=True) == "stratified_t"
    assert method({"c": [1.0, 0.0], "d": [1.0]}, stratified=True) is None
    assert method({"c": []}) is None


@given(st.lists(st.integers(0, 3).map(lambda thirds: thirds / 3), min_size=1, max_size=30))
def test_a_confidence_interval_of_a_binary_metric_stays_on_the_scale_around_the_mean(values):
    """Fails without the clip to [0, 1], and when `student` forgets to scale back its middle."""
    found = confidence_interval({"c": values}, {"c": 1.0}, "binary_success", stratified=False)

    if found is not None:
        middle = math.fsum(values) / len(values)
        assert 0 <= found["low"] <= middle + 1e-12
        assert middle - 1e-12 <= found["high"] <= 1
        assert found["level"] == 0.95


def test_missing_tasks_are_counted_in_their_own_category():
    values, missing = {"a": [1.0, 1.0], "b": []}, {"a": 0, "b": 2}

    assert missing_interval(values, missing, micro_weighted, "binary_success") == [0.5, 1.0]
    assert missing_interval({"a": [1.0]}, {"b": 3}, category_mean, "scalar") == [0.5, 1.0]


@pytest.mark.parametrize("values", [{"a": [1.5]}, {"a": [-0.1, 1.0]}, {"a": []}, {}])
def test_a_scalar_without_a_known_scale_has_no_interval(values):
    assert missing_interval(values, {"a": 1}, micro_weighted, "scalar") is None


def test_a_binary_metric_has_a_scale_even_where_nothing_was_observed():
    assert missing_interval({"a": []}, {"a": 2}, micro_weighted, "binary_success") == [0.0, 1.0]
    assert missing_interval({}, {}, micro_weighted, "binary_success") is None
