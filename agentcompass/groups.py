"""Exceptions that leave a nursery alone are taken out of its group here."""

from collections.abc import Iterator
from contextlib import contextmanager

import trio


@contextmanager
def bare_errors() -> Iterator[None]:
    """Let the one exception of a group leave as it is; cancellations beside it do not count.

    For a nursery that callers do not see: what their own code raises inside is to reach them as
    they raised it. Several exceptions leave as the group that they are.
    """
    bare: BaseException | None = None
    try:
        yield
    except BaseExceptionGroup as group:
        _, others = group.split(trio.Cancelled)
        left = (others or group).exceptions
        if len(left) > 1:
            raise
        bare = left[0]
    if bare is not None:
        context = bare.__context__
        try:
            raise bare
        finally:
            bare.__context__ = context
