"""When Python looks for garbage while requests run: seldom, since each look stops the loop."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# New objects between two looks. Python's own 700 are less than one task makes.
_NEW_OBJECTS = 10_000


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Look seldom for garbage, and in the end again for that which `keep_loaded` let be."""
    before = gc.get_threshold()
    gc.set_threshold(_NEW_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def keep_loaded() -> None:
    """Take what is there by now for no garbage: it lives as long as the requests do."""
    gc.freeze()
