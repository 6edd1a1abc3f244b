"""Whole reports against the oracle, and what must hold of any report."""

import json
import time
from fractions import Fraction

import attrs
import cattrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.metrics.hierarchy import HierarchyInvalid
from agentcompass.metrics.observations import AttemptObservation, TaskObservations
from agentcompass.metrics.report import build_report
from agentcompass.records.metrics import (
    ContractInvalid,
    Counts,
    MetricInvalid,
    MetricReport,
    binary_contract,
    scalar_contract,
)
from tests.metrics import oracle
from tests.metrics.oracle import BINARY, SCALAR, TREE

CONVERTER = cattrs.Converter(forbid_extra_keys=True)
MODES = ("micro_weighted", "category_mean", "category_hierarchy")
plans = st.sampled_from([(1, "avg"), (1, "pass"), (3, "avg"), (3, "pass")])
modes = st.sampled_from(MODES)


def build(tasks, contract=BINARY, *, plan=(1, "avg"), mode="micro_weighted", total=None):
    k, strategy = plan
    how = {"category_hierarchy": TREE} if mode == "category_hierarchy" else {"aggregation": mode}
    return build_report(tasks, contract, k=k, strategy=strategy, total=total, **how)


def task(task_id, *verdicts, category="c", severity=""):
    """A task whose attempts gave these verdicts; None is an attempt that gave none."""
    return TaskObservations(
        task_id=task_id,
        category=category,
        attempts={
            number: AttemptObservation(
                metrics={} if verdict is None else {"correct": verdict}, severity=severity
            )
            for number, verdict in enumerate(verdicts, 1)
        },
    )


def shown(series):
    return series.value if series.reference_value is None else series.reference_value


def close(value):
    """As near as floats of this size come; None is only None."""
    return value if value is None else pytest.approx(float(value), rel=1e-9, abs=1e-9)


@given(st.data(), plans, modes)
def test_a_report_agrees_with_an_oracle_in_exact_fractions(data, plan, mode):
    """Fails when avg divides by what was observed, when fatal tasks stay in, when pass gives 0 for
    fewer than k failures, and when category_mean gives an empty category a 0.
    """
    k, strategy = plan
    tasks = data.draw(oracle.runs(BINARY, k))
    report = build(tasks, plan=plan, mode=mode)

    for series in report.series:
        values = [
            (oracle.category(each), value)
            for each in tasks
            if not oracle.is_fatal(each)
            and (value := oracle.reduce(each, series.metric_id, series.reducer, k)) is not None
        ]
        fatal = sum(map(oracle.is_fatal, tasks))
        assert shown(series) == close(oracle.run_value(values, mode))
        assert (series.value is None) or not fatal
        assert series.counts == Counts(
            total=len(tasks),
            evaluated=len(values),
            error=sum(oracle.is_faulty(each, k, strategy) for each in tasks),
            invalidated=fatal,
            unavailable=len(tasks) - len(values) - fatal,
        )


@given(st.data(), plans, modes)
def test_the_order_of_tasks_does_not_show(data, plan, mode):
    """Fails with `sum` for `fsum` in the mean, and without the sorting of categories."""
    tasks = data.draw(oracle.runs(BINARY, plan[0], scalars=oracle.coarse))

    first = build(tasks, plan=plan, mode=mode)
    second = build(data.draw(st.permutations(tasks)), plan=plan, mode=mode)

    assert json.dumps(attrs.asdict(first)) == json.dumps(attrs.asdict(second))


@given(st.data(), modes)
def test_categories_and_the_root_add_up_to_the_series(data, mode):
    """Fails when tasks without a category are left out, and when a node counts one child only."""
    tasks = data.draw(oracle.runs(BINARY, 3))

    for series in build(tasks, plan=(3, "avg"), mode=mode).series:
        for name in ("total", "evaluated", "error", "unavailable", "invalidated"):
            parts = [getattr(part.counts, name) for part in series.categories.values()]
            assert sum(parts) == getattr(series.counts, name)
        if mode == "category_hierarchy":
            root = series.hierarchy["overall"]
            assert (root.counts, shown(root)) == (series.counts, shown(series))


@given(st.data(), modes)
def test_pass_at_j_is_the_mean_of_the_subsets_and_starts_at_avg(data, mode):
    """Fails with attempts drawn with replacement, and with a mean over tasks in every mode."""
    k = data.draw(st.integers(2, 4))
    tasks = data.draw(oracle.runs(binary_contract(), k))

    series = build(tasks, binary_contract(), plan=(k, "avg"), mode=mode).series[0]

    curve = series.extra["pass_at"]
    counted = [
        (oracle.category(each), int(value * k))
        for each in tasks
        if not oracle.is_fatal(each)
        and (value := oracle.reduce(each, "correct", "avg", k)) is not None
    ]
    assert list(curve) == [str(j) for j in range(1, k + 1)]
    assert curve["1"] == shown(series)
    for j in range(1, k + 1):
        exact = [(name, oracle.subsets_with_success(c, k, j)) for name, c in counted]
        assert curve[str(j)] == close(oracle.run_value(exact, mode))


@given(st.data())
def test_pass_at_j_grows_between_0_and_1_and_ends_at_pass_where_nothing_is_missing(data):
    """Fails when j stops before k, and when successes are cut instead of rounded from the mean."""
    k = data.draw(st.integers(2, 5))
    verdicts = st.lists(st.booleans(), min_size=k, max_size=k)
    rows = data.draw(st.lists(verdicts, min_size=1, max_size=8))

    avg, passed = build(
        [task(str(i), *row) for i, row in enumerate(rows)], binary_contract(), plan=(k, "avg")
    ).series

    curve = list(avg.extra["pass_at"].values())
    assert curve == sorted(curve)
    assert 0 <= curve[0] <= curve[-1] <= 1
    assert curve[-1] == passed.value


@given(st.data())
def test_attempts_after_a_success_are_not_missed_under_pass(data):
    """Fails without the early return in `_lacks_attempt`."""
    first = data.draw(st.integers(1, 4))
    verdicts = [False] * (first - 1) + [True]

    stopped = build([task("t", *verdicts)], plan=(4, "pass"))
    whole = build([task("t", *verdicts, *[True] * (4 - first))], plan=(4, "pass"))

    assert stopped == whole
    assert stopped.series[0].value == 1.0
    assert stopped.series[0].counts == Counts(total=1, evaluated=1)


@pytest.mark.parametrize("plan", [(1, "avg"), (3, "avg"), (3, "pass")])
@given(data=st.data())
def test_the_interval_is_what_the_run_had_given_had_the_missing_failed_or_been_solved(plan, data):
    """Fails when each category is filled with all that the run misses, when a category without a
    value is left out, and when invalidated tasks are not among the missing.
    """
    mode = data.draw(modes)
    tasks = data.draw(oracle.runs(BINARY, plan[0], min_size=1))
    series = build(tasks, plan=plan, mode=mode).series[0]

    ends = [
        build(oracle.filled(tasks, "correct", series.reducer, plan[0], end), plan=plan, mode=mode)
        for end in (False, True)
    ]

    assert series.extra["interval"] == [close(end.series[0].value) for end in ends]
    assert series.extra["missing"] == series.counts.total - series.counts.evaluated
    assert 0 <= series.extra["interval"][0] <= series.extra["interval"][1] <= 1
    if shown(series) is not None:
        low, high = series.extra["interval"]
        assert low - 1e-12 <= shown(series) <= high + 1e-12


@given(oracle.runs(SCALAR, 1, scalars=oracle.unit, min_size=1))
def test_a_score_from_0_to_1_has_an_interval_as_well(tasks):
    """Fails when the interval is kept for binary metrics alone."""
    series = build(tasks, SCALAR).series[0]

    runs = [oracle.filled(tasks, "score", "native", 1, end) for end in (0.0, 1.0)]
    ends = [close(build(run, SCALAR).series[0].value) for run in runs]
    assert series.extra.get("interval") == (ends if series.counts.evaluated else None)


@given(st.data(), plans)
def test_a_fatal_issue_voids_its_task_for_every_series_and_the_official_values(data, plan):
    """Fails when a fatal task's value enters one series, or one category keeps its `value`."""
    tasks = data.draw(oracle.runs(BINARY, plan[0]))
    sound = [each for each in tasks if not oracle.is_fatal(each)]

    report, rest = build(tasks, plan=plan), build(sound, plan=plan)

    assert report.evaluation_failed == (len(sound) < len(tasks))
    if report.evaluation_failed:
        for series, reference in zip(report.series, rest.series, strict=True):
            parts = [series, *series.categories.values(), *series.hierarchy.values()]
            assert [part.value for part in parts] == [None] * len(parts)
            assert series.reference_value == reference.value


@given(oracle.runs(BINARY, 3), st.integers(0, 5))
def test_a_total_counts_tasks_that_never_started(tasks, unseen):
    """Fails when `total` is ignored."""
    empty = [TaskObservations(task_id=f"unseen {i}") for i in range(unseen)]

    padded = build(tasks, plan=(3, "avg"), total=len(tasks) + unseen)

    assert padded == build([*tasks, *empty], plan=(3, "avg"))


@given(st.data(), plans, modes)
def test_a_report_round_trips_through_json(data, plan, mode):
    """Fails when a tuple is put into `extra`."""
    report = build(data.draw(oracle.runs(BINARY, plan[0])), plan=plan, mode=mode)

    text = json.dumps(attrs.asdict(report), allow_nan=False)

    assert CONVERTER.structure(json.loads(text), MetricReport) == report


def test_dropped_items_stay_in_sight():
    """10 tasks: 4 right, 3 wrong, 2 errors, 1 cancelled (cases.md 66)."""
    tasks = [task(f"right {i}", True) for i in range(4)]
    tasks += [task(f"wrong {i}", False) for i in range(3)]
    tasks += [task(f"error {i}", None, severity="error") for i in range(2)]
    tasks += [task("cancelled")]

    series = build(tasks, binary_contract()).series[0]

    assert series.value == pytest.approx(4 / 7)
    assert series.counts == Counts(total=10, evaluated=7, error=3, unavailable=3)
    assert series.extra["missing"] == 3
    assert series.extra["interval"] == [0.4, 0.7]


@pytest.mark.parametrize("tasks", [[], [task("t", None)], [task("t"), task("u", category=None)]])
@pytest.mark.parametrize("plan", [(1, "avg"), (3, "avg"), (3, "pass")])
@pytest.mark.parametrize("mode", ["micro_weighted", "category_mean"])
def test_nothing_observed_is_null_without_a_warning(tasks, plan, mode):
    """No attempt finished, no task at all (cases.md 67); warnings are errors here."""
    for contract in (BINARY, SCALAR):
        if (contract, plan[1]) == (SCALAR, "pass"):
            continue
        report = build(tasks, contract, plan=plan, mode=mode)
        for series in report.series:
            assert (series.value, series.reference_value) == (None, None)
            assert series.counts.evaluated == 0
        assert "confidence_interval" not in report.series[0].extra
        assert set(report.series[0].extra.get("pass_at", {}).values()) <= {None}


def test_one_task_is_enough_for_a_binary_metric():
    series = build([task("t", True)], binary_contract()).series[0]

    assert series.extra["interval"] == [1.0, 1.0]
    assert series.extra["confidence_interval"]["method"] == "wilson"


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        ((1, "avg"), ["correct.native@1", "cost.native@1", "built.native@1"]),
        ((1, "pass"), ["correct.native@1", "cost.native@1", "built.native@1"]),
        ((2, "pass"), ["correct.pass@2"]),
        (
            (2, "avg"),
            ["correct.avg@2", "correct.pass@2", "cost.avg@2", "built.avg@2", "built.pass@2"],
        ),
    ],
)
def test_the_plan_chooses_the_series(plan, expected):
    report = build([], plan=plan)

    assert [series.series_id for series in report.series] == expected
    assert {s.metric_id for s in report.series if s.role == "headline"} == {"correct"}
    assert all(not series.extra for series in report.series if series.metric_id != "correct")


@pytest.mark.parametrize("k", [1, 3])
def test_pass_with_a_scalar_primary_is_refused(k):
    with pytest.raises(ContractInvalid, match="'pass' does not fit the primary 'score'"):
        build([], scalar_contract(), plan=(k, "pass"))


def test_faulty_input_is_refused():
    with pytest.raises(MetricInvalid, match="task 't', attempt 1: metric 'correct'"):
        build([task("t", 1.0)])
    with pytest.raises(ValueError, match="1 tasks were observed, more than the total of 0"):
        build([task("t", True)], total=0)
    with pytest.raises(HierarchyInvalid, match=r"no leaf for the categories \['c'\]"):
        build([task("t", True)], mode="category_hierarchy")


def test_unfinished_tasks_outside_the_tree_leave_no_interval():
    tasks = [task("t", True, category="a"), task("u", category="elsewhere")]

    series = build(tasks, mode="category_hierarchy").series[0]

    assert series.value == 1.0
    assert (series.extra["missing"], "interval" in series.extra) == (1, False)


def test_ten_thousand_tasks_aggregate_in_a_moment():
    metrics = {"correct": True, "cost": 0.5, "built": False}
    attempts = {number: AttemptObservation(metrics=metrics) for number in range(1, 4)}
    tasks = [
        TaskObservations(task_id=str(i), category=str(i % 40), attempts=attempts)
        for i in range(10_000)
    ]

    started = time.process_time()
    report = build(tasks, plan=(3, "avg"))

    assert time.process_time() - started < 2  # 0.15 s where it was written
    assert report.series[0].value == float(Fraction(1))


def test_a_report_of_nothing_estimates_nothing_however_many_attempts_are_planned() -> None:
    """Takes minutes if every number of successes is estimated, and not only those observed."""
    report = build_report(
        [TaskObservations(task_id="t")], binary_contract(), k=20_000, strategy="avg"
    )

    assert set(report.series[0].extra.get("pass_at", {}).values()) <= {None}
