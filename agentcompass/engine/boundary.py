"""The edge of an attempt: what a plug-in raises stays inside, what ends the run goes on."""

import math
import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import trio

from agentcompass.engine.execution_state import Execution
from agentcompass.engine.issues import issue_from, leaf_of


@contextmanager
def boundary(execution: Execution) -> Iterator[None]:
    """Let a plug-in's bug end this attempt alone, as an issue, and say where it was."""
    try:
        yield
    except BaseException as error:  # noqa: BLE001  # of libraries that exit, too
        fault, passing = _split(error)
        if fault is not None:
            execution.fail(issue_from(fault, phase=execution.phase), fault)
        if passing is not None:
            raise passing from None


def _split(error: BaseException) -> tuple[BaseException | None, BaseException | None]:
    """What of `error` is the attempt's fault, and what ends more than the attempt, in no group."""
    if not isinstance(error, BaseExceptionGroup):
        return (None, error) if _ends_more(error) else (error, None)
    passing, fault = error.split(_ends_more)
    return fault, None if passing is None else leaf_of(passing)


def _ends_more(error: BaseException) -> bool:
    if isinstance(error, trio.Cancelled):
        # Where nothing around is cancelled, a plug-in has raised an old one once more.
        return trio.current_effective_deadline() == -math.inf
    if isinstance(error, KeyboardInterrupt):
        return _is_from_the_user(error)
    return isinstance(error, GeneratorExit)


def _is_from_the_user(error: KeyboardInterrupt) -> bool:
    """Whether the process's handler of SIGINT raised it, and not a plug-in."""
    code = getattr(signal.getsignal(signal.SIGINT), "__code__", None)
    return any(frame.f_code is code for frame, _ in traceback.walk_tb(error.__traceback__))
