"""A program's own functions that are told while a run goes on: what they raise is the program's."""

import inspect
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import attrs
import trio

from agentcompass.errors import UsageError

Function = Callable[[Any], None]

log = logging.getLogger(__name__)


@contextmanager
def callbacks(**functions: Function | None) -> Iterator[Mapping[str, "Callback"]]:
    """The functions that were given, by name, for the body.

    One that leaves by `SystemExit` or `KeyboardInterrupt` cancels the body, as Ctrl-C does; that is
    raised once it has ended. Raises `UsageError` for what is no function or an async one.
    """
    scope = trio.CancelScope()
    given = {name: each for name, each in functions.items() if each is not None}
    told = {name: _checked(name, each, scope) for name, each in given.items()}
    try:
        with scope:
            yield told
    finally:
        for each in told.values():
            if each.left_by is not None:
                raise each.left_by


@attrs.define(eq=False)
class Callback:
    """A function as a reporter; what it raises costs it the rest."""

    name: str
    function: Function | None
    _scope: trio.CancelScope
    left_by: BaseException | None = attrs.field(default=None, init=False)

    def emit(self, told: Any) -> None:
        """Tell the function, unless it failed before; never raises."""
        if self.function is None:
            return
        try:
            self.function(told)
        except Exception:
            self.function = None
            log.exception("%s failed and is not called any more; the run goes on", self.name)
        except BaseException as error:  # noqa: BLE001  # raised again once the run is cleaned up
            self.function, self.left_by = None, error
            self._scope.cancel()


def _checked(name: str, function: Function, scope: trio.CancelScope) -> Callback:
    if not callable(function) or inspect.iscoroutinefunction(function):
        raise UsageError(f"{name}: expected a function that is not async, got {function!r}")
    return Callback(name, function, scope)
