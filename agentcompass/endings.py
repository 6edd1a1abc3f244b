"""How an evaluation ended, as each of those who ask is told."""

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from agentcompass.errors import (
    AgentCompassError,
    RequestCancelled,
    RequestError,
    RequestFailed,
    RequestTimeout,
)

_KINDS: Mapping[str, type[RequestError]] = {
    "failed": RequestFailed,
    "timed_out": RequestTimeout,
}


def cut_off(result: Mapping[str, Any], directory: Path | None) -> RequestError | None:
    """The error of a request that its program cancelled; None where it had completed by then.

    What is on record counts: a cancellation while the last files are written changes nothing.
    `result` is empty, and `directory` None, where it had not begun.
    """
    status = result["metadata"]["status"] if result else "cancelled"
    if status == "completed":
        return None
    had = f"it had {status.replace('_', ' ')} when it was " if status in _KINDS else ""
    where = f"; what had finished is in {directory}" if directory else ""
    kind = _KINDS.get(status, RequestCancelled)
    return kind(f"{had}cancelled by its program{where}", result=result)


def own_error(error: AgentCompassError) -> AgentCompassError:
    """A copy: nobody changes the traceback, or the result, that another one is looking at."""
    own = error.__class__.__new__(error.__class__, *error.args)
    vars(own).update(vars(error))
    if isinstance(own, RequestError):
        own.result = deepcopy(own.result)
    own.__cause__ = error.__cause__
    return own
