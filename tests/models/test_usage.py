"""Row 57 of the cases: token counts are never negative and never counted twice."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.models._usage import read_usage
from agentcompass.records.model import Usage

numbers = st.integers(-3, 20) | st.integers() | st.floats()
scalars = numbers | st.none() | st.booleans() | st.text(max_size=5)
details = scalars | st.fixed_dictionaries(
    {}, optional={"cached_tokens": scalars, "reasoning_tokens": scalars}
)
usages = scalars | st.fixed_dictionaries(
    {},
    optional={
        "prompt_tokens": scalars,
        "completion_tokens": scalars,
        "total_tokens": scalars,
        "cost": scalars,
        "prompt_tokens_details": details,
        "completion_tokens_details": details,
    },
)


counts = st.integers(-3, 20)
tidy = st.fixed_dictionaries(
    {
        "prompt_tokens": counts,
        "completion_tokens": counts,
        "prompt_tokens_details": st.fixed_dictionaries({"cached_tokens": counts}),
        "completion_tokens_details": st.fixed_dictionaries({"reasoning_tokens": counts}),
    }
)


@given(raw=usages | tidy)
def test_counts_are_known_and_whole_or_unknown(raw: Any):
    """Fails without the `min` in `_part`, and without the lower bound in `_count`."""
    usage = read_usage(raw)

    counts = (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens)
    assert all(count is None or (type(count) is int and count >= 0) for count in counts)
    assert usage.cost_usd is None or 0 <= usage.cost_usd < float("inf")
    if usage.prompt_tokens is not None and usage.cached_tokens is not None:
        assert usage.cached_tokens <= usage.prompt_tokens
    if usage.completion_tokens is not None and usage.reasoning_tokens is not None:
        assert usage.reasoning_tokens <= usage.completion_tokens


@pytest.mark.parametrize("raw", [None, "12", 3, []])
def test_no_usage_is_unknown_and_not_zero(raw: Any):
    assert read_usage(raw) == Usage()


def test_what_the_provider_said_is_kept_beside_what_is_believed():
    raw = {
        "prompt_tokens": 100,
        "completion_tokens": "12",
        "total_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 140},
        "completion_tokens_details": None,
        "cost": 0.25,
    }

    assert read_usage(raw) == Usage(
        prompt_tokens=100, completion_tokens=None, cached_tokens=100, cost_usd=0.25, raw=raw
    )
