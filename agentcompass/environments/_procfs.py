"""The process table of this host, read from /proc as proc(5) describes it."""

import os
from pathlib import Path

import attrs
import trio

RUN = "AGENTCOMPASS_RUN"
SESSION = "AGENTCOMPASS_SESSION"
EXEC = "AGENTCOMPASS_EXEC"
GUARD = "AGENTCOMPASS_GUARD"


@attrs.frozen(kw_only=True)
class Process:
    """A live process. `started` is in clock ticks since boot; with the pid it is an identity.

    The tokens, by which a process that left its tree is still found, and `cwd` are read only of
    processes younger than this one: nothing older can be ours. `cwd` is empty where there is a
    token or a terminal.
    """

    pid: int
    parent: int
    group: int
    session: int
    started: int
    session_token: str | None = None
    exec_token: str | None = None
    cwd: str = ""

    @property
    def identity(self) -> tuple[int, int]:
        """What a pid alone is not: the number is given out again."""
        return (self.pid, self.started)

    def is_still_there(self) -> bool:
        """Whether the pid still stands for this process."""
        stat = _stat(self.pid)
        return stat is not None and stat.started == self.started


@attrs.frozen
class _Stat:
    parent: int
    group: int
    session: int
    terminal: int
    started: int
    is_alive: bool


def _stat(pid: int) -> _Stat | None:
    text = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    if not text:
        return None
    # A process whose first thread ended shows as a zombie while its other threads run.
    alive = text[0] not in (b"Z", b"X") or int(text[17]) > 1
    return _Stat(int(text[1]), int(text[2]), int(text[3]), int(text[4]), int(text[19]), alive)


def _read(path: str) -> bytes:
    """A file of /proc; empty where the process is gone or another user's."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        parts = []
        while part := os.read(handle, 1 << 18):
            parts.append(part)
        return b"".join(parts)
    except OSError:
        return b""
    finally:
        os.close(handle)


def _value(environ: bytes, name: str) -> str | None:
    _, found, rest = (b"\0" + environ).partition(f"\0{name}=".encode())
    return rest.partition(b"\0")[0].decode(errors="replace") if found else None


def _cwd(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/cwd").readlink())
    except OSError:
        return ""


def _process(pid: int, oldest: int) -> Process | None:
    stat = _stat(pid)
    if stat is None or not stat.is_alive:
        return None
    session_token, exec_token, cwd = None, None, ""
    if stat.started >= oldest:
        environ = _read(f"/proc/{pid}/environ")
        session_token, exec_token = _value(environ, SESSION), _value(environ, EXEC)
        if session_token is None and stat.terminal == 0:
            cwd = _cwd(pid)
    return Process(
        pid=pid,
        parent=stat.parent,
        group=stat.group,
        session=stat.session,
        started=stat.started,
        session_token=session_token,
        exec_token=exec_token,
        cwd=cwd,
    )


def scan() -> list[Process]:
    """Every live process but this one; blocking, some 30 microseconds for each."""
    own = _stat(os.getpid())
    oldest = 0 if own is None else own.started
    with os.scandir("/proc") as entries:
        pids = [int(entry.name) for entry in entries if entry.name.isdigit()]
    found = (_process(pid, oldest) for pid in pids if pid != os.getpid())
    return [process for process in found if process is not None]


@attrs.define(eq=False)
class ProcessTable:
    """Scans for many askers: those who wait while a scan runs share the next one."""

    _begun: int = attrs.field(default=0, init=False)
    _latest: tuple[int, list[Process]] = attrs.field(factory=lambda: (0, []), init=False)
    _turn: trio.Lock = attrs.field(factory=trio.Lock, init=False)

    async def read(self) -> list[Process]:
        """The result of a scan that began after this call."""
        wanted = self._begun + 1
        async with self._turn:
            if self._latest[0] < wanted:
                self._begun += 1
                number = self._begun
                self._latest = (number, await trio.to_thread.run_sync(scan))
        return self._latest[1]
