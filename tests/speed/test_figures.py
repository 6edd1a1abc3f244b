"""Medians, spreads and ratios say what was measured, and no more."""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.figures import Size, Spread, a_task, judged, ratio, spread
from benchmarks.scenario import Cell, Target

COSTS = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=7)
OURS, THEIRS = Cell("work", "ours", "cpu"), Cell("work", "peer", "cpu")


def test_a_spread_is_the_median_with_the_lowest_and_the_highest() -> None:
    assert spread([3.0, 1.0, 2.0, 10.0]) == Spread(2.5, 1.0, 10.0)


def test_a_ratio_is_that_of_the_medians_and_its_spread_the_widest_that_the_rounds_allow() -> None:
    assert ratio(Spread(4, 2, 6), Spread(2, 1, 4)) == Spread(2, 0.5, 6)


def test_a_median_of_nothing_cannot_be_divided_by() -> None:
    assert ratio(Spread(1, 1, 1), Spread(0, -1, 2)) is None


def test_a_round_that_is_lost_in_the_noise_leaves_the_ratio_without_a_bound() -> None:
    assert ratio(Spread(1, 1, 1), Spread(1, -1, 2)) == Spread(1, 0.5, math.inf)


@given(ours=COSTS, theirs=COSTS)
def test_properties_of_the_ratio_of_two_spreads(ours: list[float], theirs: list[float]) -> None:
    """Fails where the ends of the spread are divided by their like (lowest by lowest)."""
    found = ratio(spread(ours), spread(theirs))

    assert found is not None
    assert found.lowest <= found.median <= found.highest
    assert all(found.lowest <= one / other <= found.highest for one in ours for other in theirs)


@given(costs=COSTS, factor=st.floats(1e-3, 1e3))
def test_properties_of_the_ratio_of_a_multiple(costs: list[float], factor: float) -> None:
    """Fails where the ratio is taken of anything but the two medians."""
    found = ratio(spread([cost * factor for cost in costs]), spread(costs))

    assert found is not None
    assert found.median == pytest.approx(factor)


@given(start=COSTS, price=st.floats(1e-3, 1e3), tasks=st.integers(2, 10_000))
def test_properties_of_the_cost_of_a_task(start: list[float], price: float, tasks: int) -> None:
    """Fails where the start is not taken off, or all tasks are divided by instead of the others."""
    base = statistics.median(start)
    found = {
        Cell("1 task", "ours", "cpu"): start,
        Cell("many", "ours", "cpu"): [base + price * (tasks - 1)],
    }

    told = a_task(found, ["cpu"], {"1 task": Size(1, "1 task"), "many": Size(tasks, "1 task")})

    assert list(told) == [Cell("many", "ours", "cpu_a_task")]
    assert told[Cell("many", "ours", "cpu_a_task")] == [pytest.approx(price, abs=base * 1e-9)]


def test_who_has_no_start_has_no_cost_of_a_task() -> None:
    assert a_task({OURS: [1.0]}, ["cpu"], {"work": Size(10, "1 task")}) == {}


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"),
    [
        ([1.0, 1.0], [2.0, 2.0], "met"),
        ([1.0, 1.0, 3.0], [2.0], "met, not in every round"),
        ([3.0, 3.0, 1.0], [2.0], "not met"),
        ([1.0], [0.0], "lost in the noise"),
        ([], [1.0], "not measured"),
        ([1.0], [], "not measured"),
    ],
)
def test_a_target_is_judged_by_the_median(
    ours: list[float], theirs: list[float], verdict: str
) -> None:
    target = Target(what="", of=OURS, over=THEIRS, at_most=1)

    assert judged(target, {OURS: ours, THEIRS: theirs}).verdict == verdict


def test_a_target_over_nothing_is_a_number_by_itself() -> None:
    told = judged(Target(what="", of=OURS, at_most=0.5), {OURS: [0.4, 0.2, 0.3]})

    assert (told.found, told.verdict) == (Spread(0.3, 0.2, 0.4), "met")
