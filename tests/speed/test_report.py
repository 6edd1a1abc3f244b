"""Numbers are told with as many digits as count."""

import pytest

from benchmarks.figures import Spread
from benchmarks.report import fraction, shown, significant


@pytest.mark.parametrize(
    ("value", "told"),
    [(0.0, "0"), (0.01234, "0.0123"), (1.5, "1.5"), (99.44, "99.4"), (12345.6, "12,346")],
)
def test_three_digits_count_or_all_before_the_point(value: float, told: str) -> None:
    assert significant(value) == told


@pytest.mark.parametrize(("value", "told"), [(0.02, "1/50"), (0.0703, "1/14.2"), (2.0, "2")])
def test_a_small_ratio_is_a_fraction(value: float, told: str) -> None:
    assert fraction(value) == told


def test_a_spread_stands_behind_its_median_unless_it_says_the_same() -> None:
    assert shown(Spread(0.002, 0.001, 0.0041), scale=1e3) == "2 (1..4.1)"
    assert shown(Spread(2.0, 2.0, 2.0001)) == "2"
