"""A selection is what was asked for, or a refusal that names what cannot be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.benchmarks._selection import as_utf8, select
from agentcompass.errors import UsageError
from agentcompass.records.task import TaskSpec

IDS = st.lists(st.text("abAB1", min_size=1, max_size=4), unique=True, max_size=6)


def specs(*ids):
    return [TaskSpec(task_id=task_id) for task_id in ids]


@given(IDS, st.data())
def test_a_selection_is_exactly_the_named_tasks_in_the_order_of_the_data_set(ids, data):
    """Fails where `select` goes by the order of sample_ids."""
    wanted = data.draw(st.lists(st.sampled_from(ids), unique=True) if ids else st.just([]))

    chosen = [task.task_id for task in select(specs(*ids), wanted)]

    assert chosen == [task_id for task_id in ids if task_id in wanted]


def test_null_is_every_task_and_an_empty_list_is_none():
    assert [task.task_id for task in select(specs("a", "b"), None)] == ["a", "b"]
    assert select(specs("a", "b"), []) == ()


def test_an_unknown_id_is_named_with_those_that_are_close():
    with pytest.raises(UsageError, match=r"'fix-gti'.*not among the 2 tasks.*fix-git"):
        select(specs("fix-git", "regex-log"), ["fix-gti"])


def test_every_unknown_id_is_named():
    with pytest.raises(UsageError, match="'x', 'y'"):
        select(specs("a"), ["x", "a", "y"])


def test_an_id_asked_for_twice_is_named():
    with pytest.raises(UsageError, match="names 'a' more than once"):
        select(specs("a", "b"), ["a", "b", "a"])


def test_a_data_set_with_an_id_twice_is_refused():
    with pytest.raises(UsageError, match="more than one task with the id 'a'"):
        select(specs("a", "b", "a"), None)


def test_a_name_that_a_locale_has_garbled_is_itself_again():
    garbled = "täsk-木".encode().decode("ascii", "surrogateescape")

    assert [as_utf8(name) for name in (garbled, "täsk-木", "\ud800")] == [
        *("täsk-木", "täsk-木", "\ud800")
    ]
    assert len(select(specs("täsk-木"), [garbled])) == 1
