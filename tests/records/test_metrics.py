"""The contract of metrics, and the invariants of the report (formats.md 2.10)."""

import json

import attrs
import cattrs
import pytest

from agentcompass.records.metrics import (
    Breakdown,
    ContractInvalid,
    Counts,
    MetricContract,
    MetricDisplay,
    MetricReport,
    MetricSeries,
    MetricSpec,
    binary_contract,
    scalar_contract,
    sum_counts,
)

PRIMARY = MetricSpec(kind="binary_success", primary=True)
ONE = Counts(total=1, evaluated=1)


def series(**changes):
    fields = {
        "series_id": "correct.native@1",
        "metric_id": "correct",
        "kind": "binary_success",
        "reducer": "native",
        "role": "headline",
        "aggregation": "micro_weighted",
        "display": MetricDisplay(label="Correct"),
        "k": 1,
        "value": 1.0,
        "counts": ONE,
        "categories": {"c": Breakdown(value=1.0, counts=ONE, aggregation_weight=1.0)},
    }
    return MetricSeries(**{**fields, **changes})


def report(*found, **changes):
    fields = {"aggregation": "micro_weighted", "evaluation_failed": False, "k": 1}
    return MetricReport(**{**fields, "strategy": "avg", "series": found, **changes})


@pytest.mark.parametrize(
    ("specs", "fault"),
    [
        ({}, "exactly one metric has to be primary"),
        ({"built": MetricSpec(kind="scalar")}, r"exactly one .* of \['built'\]"),
        ({"correct": PRIMARY, "score": MetricSpec(kind="scalar", primary=True)}, "exactly one"),
        ({"correct": PRIMARY, "score": MetricSpec(kind="scalar")}, "no other is: 'score'"),
        ({"right": PRIMARY}, r"the primary metric is 'correct' .* 'right'"),
        ({"score": PRIMARY}, r"'score' \(binary_success\)"),
        ({"correct": attrs.evolve(PRIMARY, role="auxiliary")}, "its role is headline"),
        ({"correct": PRIMARY, " ": MetricSpec(kind="scalar")}, "white space around it"),
    ],
)
def test_a_contract_that_contradicts_itself_is_refused(specs, fault):
    with pytest.raises(ContractInvalid, match=fault):
        MetricContract(specs=specs)


@pytest.mark.parametrize(
    ("kind", "reducers"),
    [("scalar", ("pass",)), ("scalar", ()), ("binary_success", ("avg", "avg")), ("scalar", "avg")],
)
def test_a_metric_has_reducers_that_fit_its_kind(kind, reducers):
    with pytest.raises(ContractInvalid, match=f"a {kind} metric is reduced by"):
        MetricSpec(kind=kind, reducers=reducers)


def test_contracts_grow_by_auxiliary_metrics_with_readable_labels():
    contract = scalar_contract().with_auxiliary("built", "binary_success")
    contract = contract.with_auxiliary("cost_usd", "scalar", unit="USD", precision=6)

    assert contract.primary == "score"
    assert [spec.role for spec in contract.specs.values()] == ["headline", "auxiliary", "auxiliary"]
    assert contract.specs["built"].reducers == ("avg", "pass")
    assert contract.specs["cost_usd"].display == MetricDisplay(
        label="Cost Usd", unit="USD", precision=6
    )
    with pytest.raises(ContractInvalid, match="'built' is declared twice"):
        contract.with_auxiliary("built", "scalar")


def test_pass_needs_a_primary_that_attempts_can_pass():
    binary_contract().check_strategy("pass")
    scalar_contract().check_strategy("avg")
    with pytest.raises(ContractInvalid, match="does not fit the primary 'score'"):
        scalar_contract().check_strategy("pass")


@pytest.mark.parametrize(
    "counts",
    [
        {"total": 2, "evaluated": 1},
        {"total": 1, "evaluated": 1, "invalidated": 1},
        {"total": 1, "evaluated": 1, "error": 2},
        {"total": -1, "evaluated": -1},
    ],
)
def test_counts_add_up(counts):
    with pytest.raises(ValueError):
        Counts(**counts)


def test_counts_of_nothing_are_zero():
    assert sum_counts([]) == Counts()
    assert sum_counts([ONE, Counts(total=1, error=1, unavailable=1)]) == Counts(
        total=2, evaluated=1, error=1, unavailable=1
    )


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"series_id": "correct.avg@1"}, "does not name its own metric"),
        ({"reference_value": 1.0}, "exclude each other"),
        ({"counts": Counts(total=1, unavailable=1)}, "a value without an evaluated task"),
        ({"value": float("nan")}, "value is not finite"),
        ({"counts": Counts(total=2, evaluated=2)}, "do not add up"),
        ({"k": 0}, "k"),
    ],
)
def test_a_series_that_contradicts_itself_is_refused(changes, fault):
    with pytest.raises(ValueError, match=fault):
        series(**changes)


VOID = Counts(total=1, invalidated=1)


@pytest.mark.parametrize(
    ("found", "changes", "fault"),
    [
        ((series(),), {"k": 2}, "not of the report's k = 2"),
        ((series(), series()), {}, "a series occurs twice"),
        ((series(),), {"evaluation_failed": True}, "if and only if a task is invalidated"),
        ((series(value=None, reference_value=1.0),), {}, "does not give"),
        (
            (series(), series(series_id="x.native@1", metric_id="x", categories={})),
            {},
            "x.native@1 has other tasks or categories than correct.native@1",
        ),
        (
            (
                series(
                    counts=Counts(total=2, evaluated=1, invalidated=1),
                    categories={},
                ),
            ),
            {"evaluation_failed": True},
            "does not give",
        ),
        ((series(value=None, counts=VOID, categories={}),), {}, "if and only if"),
    ],
)
def test_a_report_that_contradicts_itself_is_refused(found, changes, fault):
    with pytest.raises(ValueError, match=fault):
        report(*found, **changes)


def test_the_records_have_exactly_the_keys_of_the_file():
    def keys(cls):
        return {field.name for field in attrs.fields(cls)}

    counts = {"total", "evaluated", "error", "unavailable", "invalidated"}
    values = {"value", "reference_value", "counts"}
    assert keys(Counts) == counts
    assert keys(Breakdown) == {*values, "aggregation_weight"}
    assert keys(MetricDisplay) == {"label", "description", "unit", "precision"}
    assert keys(MetricReport) == {
        *("aggregation", "evaluation_failed", "extra", "k", "strategy", "series")
    }
    assert keys(MetricSeries) == {
        *values,
        *("series_id", "metric_id", "kind", "reducer", "role", "aggregation", "display", "k"),
        *("categories", "hierarchy", "extra"),
    }


def test_a_report_of_another_aggregation_is_read():
    """Benchmarks of the peer bring their own, such as `ratio_of_sums`."""
    found = report(series(aggregation="ratio_of_sums", extra={"note": "kept"}))

    raw = json.loads(json.dumps(attrs.asdict(found)))

    assert cattrs.Converter(forbid_extra_keys=True).structure(raw, MetricReport) == found
