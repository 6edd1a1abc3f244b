"""What a call costs: known or unknown, never 0 for want of a price."""

import json
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.models._prices import Prices, priced, prices_for
from agentcompass.models._usage import anthropic_usage, read_usage
from agentcompass.records.model import Usage

OWN = {"input": 1.0, "output": 10.0, "cached_input": 0.1, "cache_write": 2.0}


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("gpt-4o", 2.5),
        ("GPT-4o", 2.5),
        ("openai/gpt-4o", 2.5),
        ("gpt-4o-2024-08-06", 2.5),
        ("gpt-4o-2024-05-13", 5.0),
        ("gpt-4o-mini-2024-07-18", 0.15),
        ("claude-sonnet-4-20250514", 3.0),
        ("claude-sonnet-4@20250514", 3.0),
        ("anthropic/claude-3-5-haiku-latest", 0.8),
        ("claude-opus-4-5-20251101", 5.0),
        ("claude-opus-4-20250514", 15.0),
        ("gpt-4o-audio-preview", None),
        ("gpt-4o:free", None),
        ("someone/gpt-4o", None),
        ("my-gpt-4o", None),
        ("gpt-4o-2024", None),
        ("mock", None),
        ("", None),
    ],
)
def test_a_model_is_found_by_its_name_without_provider_and_date(model: str, price: float | None):
    found = prices_for(model, {})

    assert (found and found.input) == price


def test_the_users_prices_go_first_and_another_tier_has_none():
    assert prices_for("gpt-4o", {"prices": OWN}) == Prices(**OWN)
    assert prices_for("mine", {"prices": {"input": 0, "output": 0}}) == Prices(input=0, output=0)
    assert prices_for("gpt-4o", {"service_tier": "flex"}) is None
    assert prices_for("gpt-4o", {"service_tier": "default"}) is not None


def test_each_part_of_a_prompt_is_paid_once():
    raw = {
        "input_tokens": 100,
        "cache_read_input_tokens": 1000,
        "cache_creation_input_tokens": 10,
        "output_tokens": 5,
    }
    usage = anthropic_usage(raw)

    assert (usage.prompt_tokens, usage.cached_tokens, usage.cache_write_tokens) == (1110, 1000, 10)
    assert Prices(**OWN).cost(usage) == pytest.approx((100 + 1000 * 0.1 + 10 * 2 + 5 * 10) / 1e6)


def test_without_a_price_of_their_own_parts_cost_what_the_input_costs():
    usage = Usage(prompt_tokens=100, completion_tokens=0, cached_tokens=40)

    assert Prices(input=1, output=1).cost(usage) == pytest.approx(100 / 1e6)
    assert Prices(input=1, output=1, cached_input=0).cost(usage) == pytest.approx(60 / 1e6)


@pytest.mark.parametrize(
    "usage",
    [
        Usage(),
        Usage(prompt_tokens=3),
        Usage(completion_tokens=3),
        Usage(prompt_tokens=200_001, completion_tokens=1),
    ],
)
def test_what_is_not_known_costs_nothing_known(usage: Usage):
    prices = Prices(input=1, output=1, prompt_limit=200_000)

    assert prices.cost(usage) is None
    assert priced(usage, None).cost_usd is None


def test_what_the_provider_says_it_costs_is_believed():
    usage = read_usage({"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.5})

    assert priced(usage, Prices(**OWN)).cost_usd == 0.5


@given(
    prompt=st.integers(0, 10**9),
    completion=st.integers(0, 10**9),
    cached=st.none() | st.integers(0, 10**9),
    written=st.none() | st.integers(0, 10**9),
)
def test_a_cost_is_never_negative(prompt, completion, cached, written):
    """Fails without the `max` in `cost`: providers report parts greater than the whole."""
    usage = Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=cached,
        cache_write_tokens=written,
    )

    cost = Prices(input=1, output=1, cached_input=0, cache_write=0).cost(usage)

    assert cost is not None
    assert cost >= 0


def test_the_table_that_ships_says_where_it_is_from():
    table = json.loads((files("agentcompass.models") / "prices.json").read_text())

    for family in table["families"]:
        assert family["source"]
        assert family["date"] >= "2026"
        for model, row in family["models"].items():
            prices = Prices(**row)
            assert 0 < prices.input < prices.output, model
            assert (prices.cached_input or 0) < prices.input, model
