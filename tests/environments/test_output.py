"""Bounded output: never over the limit, never cut inside a character, nothing miscounted."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.environments._output import OutputBuffer


def filled(limit: int, data: bytes, chunk: int = 7) -> OutputBuffer:
    buffer = OutputBuffer(limit)
    for start in range(0, len(data), chunk):
        buffer.add(data[start : start + chunk])
    return buffer


@given(data=st.binary(max_size=400), limit=st.integers(0, 500), chunk=st.integers(1, 100))
def test_what_fits_is_kept_whole(data, limit, chunk):
    text, left_out = filled(limit, data, chunk).text()

    if len(data) <= limit:
        assert (text, left_out) == (data.decode(errors="replace"), 0)
    else:
        assert left_out >= len(data) - limit


@given(
    text=st.text(alphabet="aé☃🙂\n", max_size=600),
    limit=st.integers(0, 700),
    chunk=st.integers(1, 64),
)
def test_valid_text_is_cut_between_characters_and_never_over_the_limit(text, limit, chunk):
    """Row 39. Fails without `_without_broken_end`, and without `_without_broken_start`."""
    kept, left_out = filled(limit, text.encode(), chunk).text()

    assert "\ufffd" not in kept
    assert len(kept.encode()) <= limit
    head, _, tail = kept.partition(f"\n[... {left_out} bytes left out here ...]\n")
    if limit >= 256 and left_out:
        assert text.startswith(head)
        assert text.endswith(tail)
        assert len(text.encode()) == len((head + tail).encode()) + left_out


@pytest.mark.parametrize("limit", [0, 1, 2, 3])
def test_a_limit_below_one_character_keeps_nothing_of_it(limit):
    assert filled(limit, "☃☃".encode(), 1).text() == ("", 6)


def test_half_a_character_at_the_very_end_is_replaced_once():
    assert filled(100, "a☃".encode()[:-1]).text() == ("a\ufffd", 0)


def test_memory_stays_near_the_limit():
    buffer = OutputBuffer(1000)
    for _ in range(1000):
        buffer.add(os.urandom(10_000))
        assert len(buffer._head) + len(buffer._tail) <= 2000

    assert buffer.total == 10_000_000
