"""summary.md against golden files, and the SDK's summary."""

from pathlib import Path

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.metrics.observations import AttemptObservation, TaskObservations
from agentcompass.metrics.report import build_report
from agentcompass.metrics.summary import (
    FAILED,
    headline,
    overview,
    render_summary,
    summary_mapping,
    table,
)
from agentcompass.records.metrics import MetricReport, binary_contract, scalar_contract

GOLDEN = Path(__file__).parents[2] / "fixtures" / "metrics"
CONTRACT = binary_contract().with_auxiliary("answer_len", "scalar")


def task(task_id, *verdicts, category="default", severity=""):
    return TaskObservations(
        task_id=task_id,
        category=category,
        attempts={
            number: AttemptObservation(
                metrics={"correct": verdict, "answer_len": float(2 * verdict)}, severity=severity
            )
            for number, verdict in enumerate(verdicts, 1)
        },
    )


def report(*tasks, k=1, strategy="avg", contract=CONTRACT, **options):
    return build_report(tasks, contract, k=k, strategy=strategy, **options)


TREE = {"overall": {"aggregation": "weighted", "children": {"math": {"weight": 3}, "hist": {}}}}
SUMMARIES = {
    "one_attempt": report(task("t1", True, category="math"), task("t2", False, category="hist")),
    "three_attempts": report(
        task("t1", True, False, True, category="x"),
        task("t2", False, False, False, category="y"),
        task("t3", True, True, True, category="y"),
        k=3,
    ),
    "first_success": report(task("t1", False, True), task("t2", True), k=3, strategy="pass"),
    "failed": report(
        task("t1", True), task("t2", severity="fatal"), task("t3", False, severity="fatal")
    ),
    "cut_short": report(task("t1", True), task("t2", True), task("t3", False), total=10),
    "hierarchy": report(
        task("t1", True, category="math"),
        task("t2", False, category="hist"),
        category_hierarchy=TREE,
    ),
}


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_summary_reads_as_its_golden_file(name):
    text = render_summary(
        SUMMARIES[name],
        benchmark_id="toyqa",
        model_id="mock-model",
        cut_short="timed out" if name == "cut_short" else None,
    )

    assert text == (GOLDEN / f"{name}.md").read_text()


def test_missing_tasks_without_a_scale_are_still_told():
    scores = scalar_contract()
    seen = TaskObservations(task_id="t", attempts={1: AttemptObservation(metrics={"score": 7.0})})

    text = render_summary(
        build_report([seen], scores, k=1, strategy="avg", total=2), benchmark_id="b", model_id="m"
    )

    assert "**Missing:** 1 of 2 tasks is not in the score.\n" in text


def test_a_precision_and_a_label_are_followed():
    contract = binary_contract().with_auxiliary("cost", "scalar", label="Cost, $", precision=1)
    seen = {"correct": True, "cost": 1.25}
    tasks = [
        TaskObservations(
            task_id="t", attempts=dict.fromkeys((1, 2), AttemptObservation(metrics=seen))
        )
    ]

    text = render_summary(
        build_report(tasks, contract, k=2, strategy="avg"), benchmark_id="b", model_id="m"
    )

    assert "| Cost, $ (avg@2)  | auxiliary | avg       | micro_weighted | 1.2     |" in text


def test_no_task_makes_a_summary_too():
    text = render_summary(report(), benchmark_id="b", model_id="m")

    assert "**Evaluated:** 0/0" in text
    assert "| correct    | -       |" in text
    assert "category" not in text


def test_a_report_without_series_is_no_error():
    empty = MetricReport(aggregation="micro_weighted", evaluation_failed=False, k=1, strategy="avg")

    assert headline(empty) is None
    assert "# B Evaluation" in render_summary(empty, benchmark_id="b", model_id="m")
    assert overview(empty) == ""


cells = st.text("a|\\\n\r\u2028 é", max_size=9)


@given(st.lists(st.tuples(cells, cells), max_size=4))
def test_no_cell_makes_or_breaks_a_column(rows):
    """Fails without the escaping of pipes and line breaks."""
    lines = table(("Metric", "Value"), rows).split("\n")

    assert len(lines) == 2 + len(rows)
    assert len({len(line) for line in lines}) == 1
    for line in lines[2:]:
        assert line.replace("\\|", "").count("|") == 3


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("one_attempt", "Correct (native@1): 0.5000"),
        ("three_attempts", "Correct (avg@3): 0.5556, Correct (pass@3): 0.6667"),
        ("failed", "Correct (native@1): unavailable; reference=1.0000 (1/3 valid tasks)"),
    ],
)
def test_the_overview_is_the_headline_in_one_line(name, expected):
    assert overview(SUMMARIES[name]) == expected


def test_the_overview_of_nothing_is_unavailable():
    assert overview(report(task("t"))) == "Correct (native@1): unavailable"


def test_the_mapping_has_the_keys_of_the_sdk():
    found = summary_mapping(SUMMARIES["three_attempts"])

    assert list(found) == ["overview", "evaluation_failed", "plan", "metrics", "series"]
    assert found["plan"] == {"k": 3, "strategy": "avg", "aggregation": "micro_weighted"}
    assert found["metrics"] == {
        "correct.avg@3": pytest.approx(5 / 9),
        "correct.pass@3": pytest.approx(2 / 3),
    }
    series = SUMMARIES["three_attempts"].series[2]
    assert found["series"][2] == {
        "series_id": "answer_len.avg@3",
        "metric_id": "answer_len",
        "reducer": "avg",
        "aggregation": "micro_weighted",
        "value": series.value,
        "reference_value": None,
        "counts": attrs.asdict(series.counts),
    }


def test_the_failure_line_is_the_last():
    text = render_summary(SUMMARIES["failed"], benchmark_id="b", model_id="m")

    assert text.endswith(f"\n\n{FAILED}\n")


def test_a_node_that_only_the_headline_has_is_a_dash_for_the_others():
    """Reports of the peer may break down one series and not the next."""
    whole = SUMMARIES["hierarchy"]
    partial = attrs.evolve(
        whole, series=(whole.series[0], attrs.evolve(whole.series[1], hierarchy={}))
    )

    text = render_summary(partial, benchmark_id="b", model_id="m")

    assert "| overall      | 0.7500    | -            | 2       | 2           | 0       |" in text
