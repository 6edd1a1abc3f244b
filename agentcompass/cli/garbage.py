"""When Python looks for garbage in a command line: seldom, since each look stops everything."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# New objects between two looks. Loading makes some 80,000 and no garbage; then requests run, and
# Python's own 700 are less than one task makes.
_WHILE_LOADING = 100_000
_ONCE_LOADED = 10_000


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Look seldom for garbage, and in the end again for that which `keep_loaded` let be."""
    before = gc.get_threshold()
    gc.set_threshold(_WHILE_LOADING, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def keep_loaded() -> None:
    """Take what is there by now for no garbage: it lives as long as the requests do."""
    gc.freeze()
    gc.set_threshold(_ONCE_LOADED, *gc.get_threshold()[1:])
