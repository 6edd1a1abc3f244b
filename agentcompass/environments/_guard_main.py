"""The guard process: waits for the death of an engine, then ends what its host sessions left.

Run by its path, `python -I -S _guard_main.py PIPE MARK FOLDERS`, and importing next to nothing, so
that it starts at once and stays small. PIPE is a descriptor whose other end the engine alone holds,
MARK the `NAME=value` that every command of the run has in its environment, and FOLDERS what the
path of every session folder of the run begins with.
"""

import os
import signal
import sys
import time

_PAUSE_SECONDS = 0.02
# For what does not die of SIGKILL: a process inside a call of the kernel that cannot be broken off.
_PATIENCE_SECONDS = 60.0
# What forks faster than it can be stopped is killed as it is.
_MOST_FREEZES = 10


class Process:
    """A live process that began no earlier than the guard."""

    __slots__ = ("group", "is_marked", "parent", "pid", "session", "started", "works_inside")

    def __init__(self, pid: int, stat: list[bytes]) -> None:
        """`stat` is what follows the name in /proc/PID/stat, see proc(5)."""
        self.pid = pid
        self.parent, self.group, self.session = (int(field) for field in stat[1:4])
        self.started = int(stat[19])
        self.is_marked = False
        self.works_inside = False

    @property
    def identity(self) -> tuple[int, int]:
        """What a pid alone is not: the number is given out again."""
        return (self.pid, self.started)


def main() -> None:
    """Wait until the engine is gone and clean up; an engine that ends well kills its guard."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    pipe, mark, folders = int(sys.argv[1]), os.fsencode(sys.argv[2]), os.fsencode(sys.argv[3])
    while os.read(pipe, 1):
        pass
    os.close(pipe)
    end_all(mark, folders)
    remove_folders(folders)


def end_all(mark: bytes, folders: bytes) -> None:
    """Kill until two looks in a row find nobody.

    Whoever is new is stopped before anybody is killed: an orphan no longer shows where it is from.
    """
    seen: set[tuple[int, int]] = set()
    freezes = looks = 0
    ends_at = time.monotonic() + _PATIENCE_SECONDS
    while looks < 2 and time.monotonic() < ends_at:
        members = family(look(mark, folders), seen)
        new = [process for process in members if process.identity not in seen]
        seen.update(process.identity for process in new)
        looks = 0 if members else looks + 1
        if new and freezes < _MOST_FREEZES:
            freezes += 1
            send(new, signal.SIGSTOP)
        else:
            send(members, signal.SIGKILL)
            time.sleep(_PAUSE_SECONDS)


def family(processes: list[Process], seen: set[tuple[int, int]]) -> list[Process]:
    """The run's processes, those in a session with a marked one, all their descendants, and
    whoever was among them before.
    """
    sessions = {process.session for process in processes if process.is_marked}
    found = {
        process.pid
        for process in processes
        if process.works_inside or process.session in sessions or process.identity in seen
    }
    known = -1
    while known < len(found):
        known = len(found)
        found.update(process.pid for process in processes if process.parent in found)
    return [process for process in processes if process.pid in found]


def look(mark: bytes, folders: bytes) -> list[Process]:
    """Every other live process that is no older than the guard: no older one is the run's."""
    own = read_stat(os.getpid())
    with os.scandir("/proc") as entries:
        pids = [int(entry.name) for entry in entries if entry.name.isdigit()]
    found = []
    for pid in pids:
        stat = read_stat(pid)
        if pid != os.getpid() and is_alive(stat) and int(stat[19]) >= int(own[19]):
            process = Process(pid, stat)
            note_origin(process, mark, folders, has_terminal=stat[4] != b"0")
            found.append(process)
    return found


def note_origin(process: Process, mark: bytes, folders: bytes, *, has_terminal: bool) -> None:
    """Find out whether the process is marked; if by no run, whether it is a daemon in a folder."""
    environ = b"\0" + read(f"/proc/{process.pid}/environ")
    name = mark.partition(b"=")[0]
    process.is_marked = b"\0" + mark + b"\0" in environ
    if not has_terminal and b"\0" + name + b"=" not in environ:
        process.works_inside = working_folder(process.pid).startswith(folders)


def working_folder(pid: int) -> bytes:
    """Where a process works; empty where it is gone or another user's."""
    try:
        return os.readlink(b"/proc/%d/cwd" % pid)
    except OSError:
        return b""


def read_stat(pid: int) -> list[bytes]:
    """The fields of /proc/PID/stat from the state on; empty where the process is gone."""
    return read(f"/proc/{pid}/stat").rpartition(b")")[2].split()


def is_alive(stat: list[bytes]) -> bool:
    """Whether more than a zombie is left; one whose first thread ended still has other threads."""
    return bool(stat) and (stat[0] not in (b"Z", b"X") or int(stat[17]) > 1)


def read(path: str) -> bytes:
    """A file of /proc; empty where the process is gone or another user's."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        data = b""
        while part := os.read(handle, 1 << 18):
            data += part
        return data
    except OSError:
        return b""
    finally:
        os.close(handle)


def send(processes: list[Process], number: int) -> None:
    """Signal `processes`; of a marked one the group, which cannot fork away from it."""
    for process in processes:
        stat = read_stat(process.pid)
        if not stat or int(stat[19]) != process.started:
            continue
        try:
            if process.is_marked and process.group > 1:
                os.killpg(process.group, number)
            else:
                os.kill(process.pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def remove_folders(folders: bytes) -> None:
    """Remove every folder whose path begins so; what cannot be removed stays."""
    parent, prefix = os.path.split(folders)
    try:
        names = os.listdir(parent)
    except OSError:
        return
    for name in names:
        folder = os.path.join(parent, name)
        if name.startswith(prefix) and os.path.isdir(folder) and not os.path.islink(folder):
            remove(os.fsdecode(folder))


def remove(folder: str) -> None:
    """Remove a folder, by programs that know those without permissions and any depth."""
    if os.spawnvp(os.P_WAIT, "rm", ["rm", "-rf", "--", folder]) != 0:
        os.spawnvp(os.P_WAIT, "chmod", ["chmod", "-R", "u+rwx", "--", folder])
        os.spawnvp(os.P_WAIT, "rm", ["rm", "-rf", "--", folder])


if __name__ == "__main__":
    main()
