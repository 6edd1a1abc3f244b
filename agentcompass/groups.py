"""Exceptions that leave nurseries alone are taken out of their groups here."""

from collections.abc import Iterator
from contextlib import contextmanager

import trio


@contextmanager
def bare_errors() -> Iterator[None]:
    """Let the one exception of a group leave as it is; cancellations beside it do not count.

    For a nursery that callers do not see: what their own code raises inside is to reach them as
    they raised it. Several exceptions leave as the group that they are. The nursery has to be
    strict, whatever the program has asked trio for: else a group of theirs is taken for its own.
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


@contextmanager
def bare_interrupts() -> Iterator[None]:
    """Let Ctrl-C leave as `KeyboardInterrupt`, in whichever of our tasks it struck.

    For nurseries that callers do not see; what their tasks raised as they were ended is dropped.
    """
    interrupt: BaseException | None = None
    try:
        yield
    except BaseExceptionGroup as group:
        interrupt = _first(KeyboardInterrupt, group)
        if interrupt is None:
            raise
    if interrupt is not None:
        raise interrupt


def _first(kind: type[BaseException], found: BaseException) -> BaseException | None:
    if not isinstance(found, BaseExceptionGroup):
        return found if isinstance(found, kind) else None
    return next(filter(None, (_first(kind, each) for each in found.exceptions)), None)
