"""The edge of an attempt: what a plug-in raises stays inside, what ends the run goes on."""

from collections.abc import Iterator
from contextlib import contextmanager

from agentcompass.engine.execution_state import Execution
from agentcompass.engine.issues import issue_from, leaf_of
from agentcompass.plugin_edge import ends_more


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
        return (None, error) if ends_more(error) else (error, None)
    passing, fault = error.split(ends_more)
    return fault, None if passing is None else leaf_of(passing)
