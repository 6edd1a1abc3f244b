"""A plug-in that is asked outside any attempt: what it raises becomes one line that names it."""

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from typing import Any

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


@asynccontextmanager
async def plugin_context(
    what: str, hold: Callable[[], AbstractAsyncContextManager[Any]]
) -> AsyncIterator[None]:
    """Hold what a plug-in offers for the body; what opening or closing it raises is its fault.

    What the body raises passes.
    """
    async with AsyncExitStack() as stack:
        with plugin_edge(what):
            await stack.enter_async_context(hold())
        yield
        with plugin_edge(what):
            await stack.aclose()


def _leaf(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
