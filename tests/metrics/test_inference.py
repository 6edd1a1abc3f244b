"""Which contract recorded metrics show."""

from typing import Any

import pytest

from agentcompass.metrics.inference import inferred_contract


@pytest.mark.parametrize(
    ("recorded", "kinds"),
    [
        ([], {"correct": "binary_success"}),
        ([{"n": 2.0}], {"correct": "binary_success", "n": "scalar"}),
        ([{}, {"correct": True, "n": 2.0}], {"correct": "binary_success", "n": "scalar"}),
        ([{"score": 0.5, "ok": True}], {"score": "scalar", "ok": "binary_success"}),
        ([{"score": 0.5}, {"correct": False}], {"correct": "binary_success"}),
        ([{"score": True}], {"correct": "binary_success"}),
        ([{"b": 1.0, "a": True}, {"a": 0.0}], {"correct": "binary_success", "b": "scalar"}),
        ([{" odd": 1.0, "": 2.0}], {"correct": "binary_success"}),
    ],
)
def test_booleans_are_binary_and_numbers_scalar(recorded: Any, kinds: dict[str, str]) -> None:
    found = {name: spec.kind for name, spec in inferred_contract(recorded).specs.items()}

    assert found.items() >= kinds.items()
    assert list(found)[: len(kinds)] == list(kinds)


def test_a_metric_is_shown_as_a_benchmark_would_declare_it() -> None:
    contract = inferred_contract([{"correct": True, "answer_len": 2.0}])

    assert contract.primary == "correct"
    display = contract.specs["answer_len"].display
    assert display is not None
    assert display.label == "Answer Len"
