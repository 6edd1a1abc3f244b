"""Opening what its mode denies to its own owner: permissions are lent, and taken back."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

# Without O_NONBLOCK, opening a named pipe would wait for its writer.
READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


class AsOwner:
    """Lends permissions on folders until the context ends. Blocking; raises `OSError`."""

    def __init__(self) -> None:
        self._lent: list[tuple[Path, int]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        while self._lent:  # from the bottom up, since a path needs every folder on it
            folder, mode = self._lent.pop()
            with suppress(FileNotFoundError):
                folder.chmod(mode)

    def lend(self, folder: Path, needed: int = os.R_OK | os.X_OK) -> None:
        """See to it that this process has `needed` (of `os.R_OK`, ...) on an existing folder."""
        if not os.access(folder, needed, effective_ids=True):
            mode = stat.S_IMODE(folder.lstat().st_mode)
            folder.chmod(mode | needed << 6)
            self._lent.append((folder, mode))


def open_as_owner(path: Path) -> int:
    """A descriptor to read a file by; no link is followed. Blocking; raises `OSError`."""
    try:
        return os.open(path, READ)
    except PermissionError:
        mode = path.lstat().st_mode
        path.chmod(mode | stat.S_IRUSR)
        try:
            return os.open(path, READ)
        finally:
            path.chmod(stat.S_IMODE(mode))
