"""Which processes of this host carry a mark: in their environment or on their command line."""

import uuid
from pathlib import Path

import trio


def new_mark() -> str:
    """A mark that no other process carries, to be put into a command's environment."""
    return f"mark-{uuid.uuid4().hex}"


def alive(mark: str) -> list[str]:
    """The live processes that carry `mark`, as `pid command line`; zombies do not count."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            state = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
            command = (folder / "cmdline").read_bytes()
            carries = mark.encode() in command + (folder / "environ").read_bytes()
        except (OSError, IndexError):
            continue
        if carries and state not in "ZX":
            found.append(f"{folder.name} {command.decode(errors='replace')}")
    return found


async def wait_for_alive(mark: str, count: int = 1) -> None:
    """Return once at least `count` processes carry `mark`; fail after 20 s."""
    with trio.fail_after(20):
        while len(alive(mark)) < count:  # noqa: ASYNC110  # a process tells nobody
            await trio.sleep(0.01)
