"""Which processes carry a mark, in their environment or on their command line; and their end."""

import os
import signal
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import attrs


@attrs.frozen
class Marked:
    """A live process that carries a mark. `program` is its first argument, without the folder."""

    pid: int
    program: str


def new_mark() -> str:
    """A mark that no other process carries."""
    return f"bench-{uuid.uuid4().hex}"


def marked(mark: str) -> list[Marked]:
    """The live processes that carry `mark`, this one left out; zombies are not alive."""
    folders = (path for path in Path("/proc").iterdir() if path.name.isdigit())
    found = (_marked(path, mark.encode()) for path in folders if path.name != str(os.getpid()))
    return [process for process in found if process is not None]


def _marked(folder: Path, mark: bytes) -> Marked | None:
    try:
        state = (folder / "stat").read_bytes().rpartition(b")")[2].split()[0]
        command = (folder / "cmdline").read_bytes()
        carries = mark in command or mark in (folder / "environ").read_bytes()
    except (OSError, IndexError):
        return None
    program = os.fsdecode(command.partition(b"\0")[0].rpartition(b"/")[2])
    return Marked(int(folder.name), program) if carries and state not in (b"Z", b"X") else None


def kill(processes: Sequence[Marked]) -> None:
    """Kill them; who is gone by now is no fault."""
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
