"""Reducers and pass@j against brute force."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.metrics.reducers import REDUCERS, mean, pass_at, weighted_mean
from tests.metrics.oracle import subsets_with_success

MAX = 1.7976931348623157e308


@pytest.mark.parametrize("attempts", range(1, 6))
@pytest.mark.parametrize("j", range(1, 6))
def test_pass_at_is_the_share_of_subsets_that_hold_a_success(attempts, j):
    """Fails with c for n - c in the subsets, and with attempts drawn with replacement."""
    for successes in range(attempts + 1):
        estimate = pass_at(j, attempts=attempts, successes=successes)

        if j > attempts:
            assert estimate is None
        else:
            assert estimate == float(subsets_with_success(successes, attempts, j))


@given(st.data())
def test_pass_at_grows_with_j_between_0_and_1(data):
    """Fails with j * c / n, and with attempts drawn with replacement."""
    attempts = data.draw(st.integers(1, 200))
    successes = data.draw(st.integers(0, attempts))

    curve = [pass_at(j, attempts=attempts, successes=successes) for j in range(1, attempts + 1)]

    assert curve[0] == successes / attempts
    assert curve == sorted(curve)
    assert 0 <= curve[0] <= curve[-1] <= 1
    assert curve[-1] == (1 if successes else 0)


@pytest.mark.parametrize(("j", "attempts", "successes"), [(0, 1, 1), (1, 1, 2), (1, 1, -1)])
def test_pass_at_refuses_counts_that_cannot_be(j, attempts, successes):
    with pytest.raises(ValueError, match=f"no pass@{j}"):
        pass_at(j, attempts=attempts, successes=successes)


@pytest.mark.parametrize(
    ("reducer", "observed", "k", "value"),
    [
        ("native", [0.25], 1, 0.25),
        ("native", [], 1, None),
        ("avg", [1.0, 0.0, 1.0], 3, 2 / 3),
        ("avg", [1.0, 1.0], 3, None),  # a missing attempt is not a zero
        ("avg", [], 3, None),
        ("pass", [0.0, 1.0], 3, 1.0),
        ("pass", [0.0, 0.0], 3, None),  # the third might have passed
        ("pass", [0.0, 0.0, 0.0], 3, 0.0),
        ("pass", [], 3, None),
    ],
)
def test_a_reducer_gives_a_value_only_where_the_attempts_decide_it(reducer, observed, k, value):
    assert REDUCERS[reducer](observed, k) == value


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1), st.randoms())
def test_a_mean_is_finite_and_the_same_in_any_order(values, random):
    """Fails with the builtin `sum`, and with `fsum` alone on values near the largest float."""
    shuffled = random.sample(values, len(values))

    assert mean(values) == mean(shuffled)
    assert math.isfinite(mean(values))


def test_the_mean_of_the_largest_floats_is_theirs():
    assert mean([MAX, MAX, MAX]) == MAX
    assert weighted_mean([(MAX, 3.0), (None, 5.0), (MAX, 0.5)]) == MAX


def test_the_mean_of_nothing_is_none():
    assert mean([]) is None
    assert weighted_mean([(None, 1.0)]) is None
