"""Tokens and dollars in Inspect's words: what is unknown is left out, and nothing counts twice."""

from typing import Any

import pytest

from agentcompass.exporting.inspect_usage import added, usage_of
from agentcompass.records.attempt import AttemptResult

CALLS = {"prompt_tokens": 100, "completion_tokens": 7, "reasoning_tokens": 3}


def usage(telemetry: Any, totals: Any = None) -> Any:
    result = AttemptResult(meta={"harness": {"telemetry": telemetry}})
    return usage_of(result, None if totals is None else {"final_metrics": totals})


def test_the_calls_of_the_model_stand_before_the_harness_and_the_steps() -> None:
    harness = {"prompt_tokens": 5, "completion_tokens": 6}
    totals = {"total_prompt_tokens": 1, "total_completion_tokens": 2, "total_steps": 3}
    both = {"input_tokens": 100, "output_tokens": 7, "total_tokens": 107, "reasoning_tokens": 3}

    assert usage({**harness, "model": CALLS}, totals) == both
    assert usage({**harness, "model": {"prompt_tokens": None}}, totals)["total_tokens"] == 11
    assert usage({}, totals) == {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}


def test_what_came_from_a_cache_or_went_into_one_is_apart() -> None:
    found = usage({**CALLS, "cached_tokens": 60, "cache_write_tokens": 30})

    assert (found["input_tokens"], found["total_tokens"]) == (10, 107)
    assert (found["input_tokens_cache_read"], found["input_tokens_cache_write"]) == (60, 30)


@pytest.mark.parametrize("telemetry", [{}, {"steps": 1}, {"prompt_tokens": None}, [], "odd", None])
def test_where_no_tokens_are_known_there_is_no_usage(telemetry: Any) -> None:
    assert usage(telemetry) == {}


def test_sums_keep_what_only_one_side_knows() -> None:
    one, two = usage({**CALLS, "cost_usd": 0.5}), usage({**CALLS, "cached_tokens": 60})

    assert added(added({}, one), two) == {
        "input_tokens": 140,
        "output_tokens": 14,
        "total_tokens": 214,
        "reasoning_tokens": 6,
        "total_cost": 0.5,
        "input_tokens_cache_read": 60,
    }
