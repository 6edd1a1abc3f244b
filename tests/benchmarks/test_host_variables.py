"""References to the host's environment: whole values only, and missing is told from empty."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.benchmarks._host_variables import resolve


@pytest.mark.parametrize(
    ("value", "resolved"),
    [
        ("${TOKEN}", "t0"),
        ("${TOKEN:-d}", "t0"),
        ("${NONE:-d}", "d"),
        ("${NONE:-}", ""),
        ("${NONE:-a:-b}", "a:-b"),
        ("${EMPTY}", ""),
        ("${EMPTY:-d}", ""),
        ("plain", "plain"),
        ("$TOKEN", "$TOKEN"),
        ("x${TOKEN}", "x${TOKEN}"),
        ("${TOKEN", "${TOKEN"),
        ("${1X}", "${1X}"),
    ],
)
def test_a_reference_is_a_whole_value(value, resolved):
    assert resolve({"K": value}, {"TOKEN": "t0", "EMPTY": ""}) == ({"K": resolved}, [])


def test_missing_variables_are_named_once_and_what_needs_them_is_left_out():
    env = {"A": "${NO_B}", "B": "${NO_A}", "C": "${NO_A}", "D": "d"}

    assert resolve(env, {}) == ({"D": "d"}, ["NO_A", "NO_B"])


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=20)))
def test_text_that_is_no_reference_passes_through(env):
    env = {name: value.replace("${", "") for name, value in env.items()}

    assert resolve(env, {}) == (env, [])
