"""The tasks of a data set that a request names. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from agentcompass.errors import UsageError
from agentcompass.records.task import TaskSpec


def select(tasks: Iterable[TaskSpec], sample_ids: Sequence[str] | None) -> tuple[TaskSpec, ...]:
    """The tasks with these ids, in the data set's order; None is all of them, [] is none.

    Raises `UsageError` naming every id that the data set has twice, that is asked for twice or
    that is not there: a typo is not a smaller selection.
    """
    known = {}
    twice = []
    for task in tasks:
        if task.task_id in known:
            twice.append(task.task_id)
        known[task.task_id] = task
    if twice:
        raise UsageError(f"the data set has more than one task with the id {_names(twice)}")
    if sample_ids is None:
        return tuple(known.values())
    names = [as_utf8(name) for name in sample_ids]
    _check(names, known)
    wanted = set(names)
    return tuple(task for task_id, task in known.items() if task_id in wanted)


def as_utf8(name: str) -> str:
    """A file name, or part of an argument, that Python has read by a locale that is not UTF-8."""
    try:
        return name.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # typed as half a character; no name of a file is
        return name


def _check(sample_ids: Sequence[str], known: Iterable[str]) -> None:
    if repeated := [name for name, times in Counter(sample_ids).items() if times > 1]:
        raise UsageError(f"sample_ids names {_names(repeated)} more than once")
    ids = list(known)
    if unknown := [name for name in sample_ids if name not in set(ids)]:
        close = get_close_matches(unknown[0], ids, n=3) or ids[:5]
        raise UsageError(
            f"sample_ids names {_names(unknown)}, not among the {len(ids)} tasks;"
            f" known: {', '.join(close)}{', ...' if len(close) < len(ids) else ''}"
        )


def _names(ids: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in dict.fromkeys(ids))
