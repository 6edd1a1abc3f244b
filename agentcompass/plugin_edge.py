"""A plug-in that is asked before a run: what it raises becomes one line that names it."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from agentcompass.errors import AgentCompassError, PluginFailed

log = logging.getLogger(__name__)


@contextmanager
def plugin_edge(what: str) -> Iterator[None]:
    """Raise `PluginFailed`, which begins with `what`, for a bug inside; the log has where it was.

    What is raised on purpose passes.
    """
    try:
        yield
    except AgentCompassError:
        raise
    except (Exception, SystemExit) as error:  # a plug-in may raise, and exit with, anything
        log.debug("%s", what, exc_info=error)
        leaf = _leaf(error)
        reason = (str(leaf).strip().splitlines() or [""])[0]
        raise PluginFailed(f"{what}: {type(leaf).__name__}: {reason}".rstrip(": ")) from error


def _leaf(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
