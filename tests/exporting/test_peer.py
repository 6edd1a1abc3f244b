"""Our records in the words of the asyncio implementation; its own stay as they are."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentcompass.exporting import peer
from agentcompass.records.run_info import MetricBasis

PEER = Path(__file__).parents[2] / "fixtures" / "peer"
PUBLIC = {"network_mode": "public"}
CLOSED = {"network_mode": "no-network"}


def requested(**sections: Any) -> Any:
    return peer.run_info({"request": sections})["request"]


def test_policies_and_the_mode_of_evaluation_have_its_names() -> None:
    environment = {
        "id": "docker",
        "network_policy": PUBLIC,
        "run_network_policy": CLOSED,
        "verifier_network_policy": PUBLIC,
        "evaluation_mode": "fresh",
        "env_variables": {"A": "b"},
    }

    assert requested(environment=environment)["environment"] == {
        "id": "docker",
        "baseline_network_policy": PUBLIC,
        "run_network_policy": CLOSED,
        "evaluation_network_policy": PUBLIC,
        "evaluation_environment_mode": "fresh",
        "env_variables": {"A": "b"},
    }


PLAN = {
    "environment": {"id": "e", "network_policy": PUBLIC, "setup": {"build_context": "/c"}},
    "evaluation_environment": {"id": "v", "network_policy": CLOSED},
    "run_network_policy": CLOSED,
    "verifier_network_policy": PUBLIC,
    "run_timeout_seconds": 9.0,
}
ITS_PLAN = {
    "environment": {"id": "e", "baseline_network_policy": PUBLIC, "setup": {}},
    "evaluation_environment": {"id": "v", "baseline_network_policy": CLOSED},
    "run_network_policy": CLOSED,
    "evaluation_network_policy": PUBLIC,
    "run_timeout_seconds": 9.0,
}


def test_so_do_the_plans_of_every_attempt() -> None:
    record = {"resolved_execution_plans": {"t": {"attempts": {"1": PLAN, "2": PLAN}}}}

    assert peer.run_info(record)["resolved_execution_plans"] == {
        "t": {"attempts": {"1": ITS_PLAN, "2": ITS_PLAN}}
    }


def test_so_does_the_event_that_tells_the_plan() -> None:
    event = {"event": "execution_plan_resolved", "payload": PLAN}

    assert peer.event(event) == {**event, "payload": ITS_PLAN}


@pytest.mark.parametrize(
    ("section", "ours", "its"),
    [
        ("environment", {"params": {"sandbox_start_timeout": 1}}, {}),
        (
            "environment",
            {"setup": {"image": "i", "user": "u", "os": "plan9"}},
            {"setup": {"image": "i"}},
        ),
        (
            "environment",
            {"evaluation_setup": {"os": "linux"}},
            {"evaluation_setup": {"os": "linux"}},
        ),
        ("execution", {"max_retries": 1, "cleanup_grace_seconds": 1.0}, {"max_retries": 1}),
        ("execution", {"max_retries": 1, "run_budget": {"max_cost_usd": 1}}, {"max_retries": 1}),
        ("execution", {"run_timer_compensation_seconds": 0.0}, {}),
        (
            "execution",
            {"artifact_collect": [{"command": "c", "timeout_seconds": 1.0, "user": "root"}]},
            {"artifact_collect": [{"command": "c", "timeout_seconds": 1.0}]},
        ),
        ("model", {"api_protocol": "replay"}, {"api_protocol": ""}),
        ("model", {"api_protocol": ["replay", "anthropic"]}, {"api_protocol": ["anthropic"]}),
    ],
)
def test_what_it_refuses_is_left_out(section: str, ours: Any, its: Any) -> None:
    assert requested(**{section: ours})[section] == its
    if section != "environment":
        assert peer.params({section: ours})[section] == its


def test_the_aggregation_is_a_parameter_with_nothing_left_to_defaults() -> None:
    """Fails without the weights, which it demands of the children of a weighted node."""
    basis = {
        "aggregation_mode": "category_mean",
        "category_hierarchy": {"overall": {"children": {"a": {"weight": 2}, "b": {}}}},
        "metrics": [],
    }
    record = {"request": {"benchmark": {"id": "b", "params": {"x": 1}}}, "metric_basis": basis}
    leaf = {"aggregation": "leaf", "children": {}}

    assert peer.run_info(record)["metric_basis"] == basis
    assert peer.run_info(record)["request"]["benchmark"]["params"] == {
        "x": 1,
        "aggregation_mode": "category_mean",
        "category_hierarchy": {
            "overall": {
                "aggregation": "unweighted",
                "weight": 1.0,
                "children": {"a": {**leaf, "weight": 2.0}, "b": {**leaf, "weight": 1.0}},
            }
        },
    }


def test_an_aggregation_that_is_not_on_record_is_the_one_that_we_read_there() -> None:
    record = {"request": {"benchmark": {}}, "metric_basis": {"metrics": [{}]}}
    params = peer.run_info(record)["request"]["benchmark"]["params"]

    assert params == {"aggregation_mode": MetricBasis(metrics=()).aggregation_mode}


def test_a_metric_has_a_label_and_no_empty_text() -> None:
    display = {"label": None, "description": "", "unit": "s", "precision": None}
    series = {"metric_id": "answer_len", "display": display}
    bare = {"metric_id": "correct", "display": None}

    assert peer.metrics({"k": 1, "series": [series, bare]}) == {
        "k": 1,
        "series": [
            {**series, "display": {**display, "label": "Answer Len", "description": None}},
            bare,
        ],
    }


def test_a_part_weighs_its_evaluated_tasks() -> None:
    part = {"value": 1.0, "counts": {"evaluated": 4}, "aggregation_weight": 0.25}
    [series] = peer.metrics(
        {"series": [{"categories": {"a": part}, "hierarchy": {"overall": part}}]}
    )["series"]

    assert series["categories"]["a"] == {**part, "aggregation_weight": 4.0}
    assert series["hierarchy"]["overall"] == {**part, "aggregation_weight": 4.0}


@pytest.mark.parametrize("run", ["error", "fatal", "k3avg", "k3pass", "success"])
@pytest.mark.parametrize("name", ["run_info", "metrics"])
def test_its_own_records_stay_as_they_are(run: str, name: str) -> None:
    record = json.loads((PEER / run / f"{name}.json").read_text())

    assert getattr(peer, name)(record) == record


@pytest.mark.parametrize("damage", [None, 1.5, "x", [], [None]])
def test_what_is_no_record_is_left_to_who_reads_it(damage: Any) -> None:
    plans = {"t": damage, "u": {"attempts": {"1": damage}}}
    request = {"execution": {"artifact_collect": damage}, "environment": damage, "model": damage}
    record = {"resolved_execution_plans": plans, "request": request}

    assert peer.run_info(record)["resolved_execution_plans"] == plans
