"""Which event loop the caller is in, and what is to be called there instead."""

import sys

import trio

from agentcompass.errors import UsageError


def refuse_inside_a_loop(name: str) -> None:
    """Raise `UsageError` where `name`, which runs a loop of its own, would block the caller's."""
    if _in_trio():
        raise UsageError(f"{name}() cannot run inside trio; await async_{name}() there")
    if _in_asyncio():
        raise UsageError(
            f"{name}() cannot run inside asyncio, whose loop it would block; there, await"
            f" asyncio.to_thread({name}, ...), and on trio await async_{name}()"
        )


def require_trio(name: str, elsewhere: str) -> None:
    """Raise `UsageError`, naming what is for other loops, where the caller is not on trio."""
    if not _in_trio():
        raise UsageError(
            f"{name}() runs on trio; in another event loop call {elsewhere}() in a thread"
        )


def _in_trio() -> bool:
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return False
    return True


def _in_asyncio() -> bool:
    asyncio = sys.modules.get("asyncio")  # who has not imported it does not run it
    try:
        return asyncio is not None and asyncio.get_running_loop() is not None
    except RuntimeError:
        return False
