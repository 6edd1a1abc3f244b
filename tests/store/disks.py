"""File systems that fail: at a chosen step, half way through a write, or by ending the process."""

import errno
import os
import signal
from collections.abc import Callable
from pathlib import Path

import attrs

from agentcompass.store.atomic import Disk, StrPath


def no_space() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def bad_block() -> OSError:
    return OSError(errno.EIO, os.strerror(errno.EIO))


class QuickDisk(Disk):
    """Does not wait for the platter: for tests that write much and lose no power."""

    def sync(self, file: int) -> None: ...


def _path(file: int) -> Path:
    return Path(f"/proc/self/fd/{file}").readlink()


@attrs.define(eq=False)
class FaultyDisk(Disk):
    """Counts its steps in `steps`; from step `fails_at` on, `times` of them fail.

    A write that fails has written half. A sync that succeeds does not wait for the platter.
    """

    fails_at: int | None = None
    times: int = 1
    error: Callable[[], OSError] = no_space
    steps: list[str] = attrs.field(factory=list)
    where: str | None = None

    def _step(self, name: str, path: object = "") -> None:
        if self.where is not None and self.where not in str(path):
            return
        self.steps.append(name)
        number = len(self.steps)
        if self.fails_at is not None and self.fails_at <= number < self.fails_at + self.times:
            self.fail(name)

    def fail(self, name: str) -> None:
        raise self.error()

    def make_folders(self, path: StrPath) -> bool:
        self._step("make_folders", path)
        return super().make_folders(path)

    def claim_folder(self, path: Path) -> None:
        self._step("claim_folder", path)
        super().claim_folder(path)

    def write(self, file: int, data: bytes) -> None:
        path = _path(file)
        try:
            self._step("write", path)
        except OSError:
            super().write(file, data[: len(data) // 2])
            raise
        super().write(file, data)

    def sync(self, file: int) -> None:
        self._step("sync", _path(file))

    def truncate(self, file: int, size: int) -> None:
        self._step("truncate", _path(file))
        super().truncate(file, size)

    def link(self, source: Path, target: Path) -> None:
        self._step("link", target)
        super().link(source, target)

    def rename(self, source: StrPath, target: StrPath) -> None:
        self._step("rename", target)
        super().rename(source, target)


class KillingDisk(FaultyDisk):
    """Ends its own process, as kill -9 does, before step `fails_at`; half a write is done."""

    def fail(self, name: str) -> None:
        if name == "write":
            raise self.error()
        os.kill(os.getpid(), signal.SIGKILL)

    def write(self, file: int, data: bytes) -> None:
        try:
            super().write(file, data)
        except OSError:
            os.kill(os.getpid(), signal.SIGKILL)
