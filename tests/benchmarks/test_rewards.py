"""The text of a reward is finite numbers by name, or an error; never a number by mistake."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentcompass.benchmarks._rewards import (
    RewardInvalid,
    main_reward,
    reward_from_text,
    rewards_from_json,
)

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
OBJECTS = st.dictionaries(st.text(max_size=10), NUMBERS | st.integers(-(2**60), 2**60), min_size=1)
SPACE = st.text(" \t\r\n", max_size=3)
NOT_NUMBERS = (
    st.none() | st.booleans() | st.text() | st.lists(NUMBERS) | st.dictionaries(st.text(), NUMBERS)
)


@given(OBJECTS, SPACE, SPACE)
def test_a_flat_object_of_numbers_is_read_as_it_was_written(rewards, before, after):
    data = f"{before}{json.dumps(rewards)}{after}".encode()

    assert rewards_from_json(data) == {name: float(value) for name, value in rewards.items()}


@given(NUMBERS, SPACE, SPACE)
def test_a_number_as_text_is_read_as_it_was_written(number, before, after):
    assert reward_from_text(f"{before}{number!r}{after}".encode()) == {"reward": number}


@given(OBJECTS, st.text(max_size=10), NOT_NUMBERS)
def test_one_value_that_is_no_number_spoils_the_object(rewards, name, value):
    """Fails where bool counts as int, or where a bad key is dropped."""
    data = json.dumps({**rewards, name: value}).encode()

    with pytest.raises(RewardInvalid, match="is not a number"):
        rewards_from_json(data)


@given(st.binary(max_size=40))
@example(b"1_0")
@example("١".encode())
@example(b"0x1")
@example(b"\x1c0")
@example("\u00a01".encode())
@example(b"1e")
@example(b"1 1")
@example(b"true")
@example(b'"1"')
def test_any_other_text_is_an_error_and_never_a_number(data):
    """Fails where float() decides: it takes 1_0 and digits of other scripts."""
    try:
        rewards = reward_from_text(data)
    except RewardInvalid:
        return
    text = data.decode("utf-8-sig")
    assert text.isascii()
    assert "_" not in text
    assert rewards == {"reward": float(text)}


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_reading_json_gives_numbers_or_an_error_whatever_is_there(data):
    try:
        rewards = rewards_from_json(data)
    except RewardInvalid:
        return
    assert rewards == {k: v for k, v in rewards.items() if type(v) is float}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "reward.json is empty"),
        (b" \n", "reward.json is empty"),
        (b"{", "reward.json is not JSON"),
        (b"\xff\xfe", "reward.json is not text"),
        (b"1", "not an object of numbers: 1.0"),
        (b"[1]", "not an object of numbers"),
        (b"null", "not an object of numbers: None"),
        (b"{}", "object without a number"),
        (b'{"reward": true}', "reward.json.reward is not a number: True"),
        (b'{"reward": "1"}', "reward.json.reward is not a number: '1'"),
        (b'{"reward": null}', "reward.json.reward is not a number: None"),
        (b'{"reward": {"a": 1}}', "reward.json.reward is not a number: {'a': 1.0}"),
        (b'{"reward": NaN}', "reward.json.reward is not finite: nan"),
        (b'{"reward": -Infinity}', "reward.json.reward is not finite: -inf"),
        (b'{"reward": 1e999}', "reward.json.reward is not finite: inf"),
        (b'{"reward": 1' + b"0" * 5000 + b"}", "reward.json.reward is not finite: inf"),
        (b'{"reward": 0, "reward": 1}', "a key is there twice"),
        (b'{"reward": 1} x', "reward.json is not JSON"),
        (b"[" * 100_000, "reward.json is not JSON"),
    ],
)
def test_each_way_to_spoil_a_json_reward_is_told_by_name(data, message):
    with pytest.raises(RewardInvalid) as caught:
        rewards_from_json(data)

    assert message in str(caught.value)
    assert (caught.value.code, caught.value.severity) == ("reward_invalid", "error")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "reward.txt is empty"),
        (b"\n\n", "reward.txt is empty"),
        (b"passed", "reward.txt is not a number: 'passed'"),
        (b"1\n1", "reward.txt is not a number"),
        (b"nan", "reward.txt is not finite: nan"),
        (b"-Inf", "reward.txt is not finite: -inf"),
        (b"1e999", "reward.txt is not finite: inf"),
        (b"\xff", "reward.txt is not text"),
        (b"x" * 500, "reward.txt is not a number: '" + "x" * 36 + "..."),
    ],
)
def test_each_way_to_spoil_a_text_reward_is_told_by_name(data, message):
    with pytest.raises(RewardInvalid) as caught:
        reward_from_text(data)

    assert message in str(caught.value)


def test_the_reward_that_counts_is_the_one_so_called_or_the_only_one():
    assert main_reward({"reward": 0.5, "style": 1.0}) == 0.5
    assert main_reward({"accuracy": 0.25}) == 0.25
    with pytest.raises(RewardInvalid, match="has a, b, but no 'reward'"):
        main_reward({"b": 1.0, "a": 1.0})
