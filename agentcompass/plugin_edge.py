"""A plug-in that is asked outside any attempt: what it raises becomes one line that names it."""

import logging
import math
import signal
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from typing import Any

import trio

from agentcompass.errors import AgentCompassError, PluginFailed

log = logging.getLogger(__name__)


@contextmanager
def plugin_edge(what: str) -> Iterator[None]:
    """Raise `PluginFailed`, which begins with `what`, for a bug inside; the log has where it was.

    What is raised on purpose passes, and so does what ends more than the plug-in.
    """
    try:
        yield
    except AgentCompassError:
        raise
    except BaseException as error:  # a plug-in may raise, and exit with, anything
        if _holds_an_end(error):
            raise
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


def _holds_an_end(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return error.subgroup(ends_more) is not None
    return ends_more(error)


def ends_more(error: BaseException) -> bool:
    """Whether `error`, which is no group, ends more than the plug-in that it comes from."""
    if isinstance(error, trio.Cancelled):
        # Where nothing around is cancelled, a plug-in has raised an old one once more.
        is_task = trio.lowlevel.in_trio_task()
        return not is_task or trio.current_effective_deadline() == -math.inf
    if isinstance(error, KeyboardInterrupt):
        return _is_from_the_user(error)
    return isinstance(error, GeneratorExit)


def _is_from_the_user(error: KeyboardInterrupt) -> bool:
    """Whether the process's handler of SIGINT raised it, and not a plug-in."""
    code = getattr(signal.getsignal(signal.SIGINT), "__code__", None)
    return any(frame.f_code is code for frame, _ in traceback.walk_tb(error.__traceback__))


def _leaf(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
