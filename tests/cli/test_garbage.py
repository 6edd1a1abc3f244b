"""Garbage is looked for seldom while requests run, and as before afterwards."""

import gc

import pytest

from agentcompass.cli.garbage import keep_loaded, seldom_collected


def test_garbage_is_looked_for_less_often_until_the_end() -> None:
    before = gc.get_threshold()

    with seldom_collected():
        while_loading = gc.get_threshold()[0]
        keep_loaded()
        assert before[0] < gc.get_threshold()[0] < while_loading
        assert gc.get_freeze_count() > 0

    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


def test_it_is_looked_for_as_before_where_the_request_fails() -> None:
    before = gc.get_threshold()

    with pytest.raises(KeyError), seldom_collected():
        raise KeyError

    assert gc.get_threshold() == before
