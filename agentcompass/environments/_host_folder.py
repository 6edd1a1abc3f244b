"""The folder of one host session: made whole or not at all, and removed whatever is in it."""

import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import attrs
import trio

from agentcompass.errors import EnvironmentFailed

PREFIX = "agentcompass-"
_PARTS = (
    "app",
    "tests",
    "logs/agent",
    "logs/verifier",
    "logs/artifacts",
    "solution",
    "home",
    "tmp",
)


@attrs.define(eq=False)
class SessionFolder:
    """A folder that is made when it is first needed: many tasks only ask a model, and need none.

    `workdir` is relative to its app/; `is_made` says whether there is, or was, such a folder.
    """

    root: Path
    workdir: str
    is_made: bool = attrs.field(default=False, init=False)
    _is_gone: bool = attrs.field(default=False, init=False)
    _lock: trio.Lock = attrs.field(factory=trio.Lock, init=False)

    async def ready(self) -> None:
        """Return with the folder made; raises `EnvironmentFailed` where it cannot be, any more."""
        async with self._lock:
            if self._is_gone:
                raise EnvironmentFailed("the session is closed")
            if not self.is_made:
                await trio.to_thread.run_sync(make_folder, self.root, self.workdir)
                self.is_made = True

    async def remove(self) -> None:
        """Remove it; goes on behind the scenes where the time for it runs out."""
        async with self._lock:
            self._is_gone = True
            if self.is_made:
                await trio.to_thread.run_sync(remove_folder, self.root, abandon_on_cancel=True)


def folders_begin_with(owner: str) -> str:
    """How the path of every folder that is made for `owner` begins. Blocking."""
    return f"{_real(tempfile.gettempdir())}/{PREFIX}{owner}-"


def root_of(token: str, *, owner: str = "") -> Path:
    """The path of a session's folder: short, since that of a socket in it has to be."""
    return Path(folders_begin_with(owner) + token[:8])


@cache
def _real(folder: str) -> str:
    return os.path.realpath(folder)


def make_folder(root: Path, workdir: str) -> None:
    """Make a folder, readable by this user alone; `workdir` is relative to its app/. Blocking.

    Raises `EnvironmentFailed` where there is no room for it, and leaves nothing then.
    """
    try:
        root.mkdir(mode=0o700)
    except OSError as error:
        raise EnvironmentFailed(f"no folder for a session can be made: {error}") from error
    try:
        for part in (*_PARTS, f"app/{workdir}"):
            (root / part).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        shutil.rmtree(root, ignore_errors=True)
        raise EnvironmentFailed(f"the folder of a session cannot be made: {error}") from error


def remove_folder(root: Path) -> None:
    """Remove a folder with all in it; raises `EnvironmentFailed` naming what is left. Blocking."""
    try:
        shutil.rmtree(root)
    except FileNotFoundError:
        if not root.exists():
            return
        _remove_by_force(root)
    except (OSError, RecursionError):
        _remove_by_force(root)


def _remove_by_force(root: Path) -> None:
    # These two know folders without permissions and trees deeper than any path may be long.
    said = ""
    for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
        done = subprocess.run([*command, "--", str(root)], capture_output=True, check=False)
        said = os.fsdecode(done.stderr)
    if os.path.lexists(root):
        reason = said.strip().partition("\n")[0] or "files appear in it"
        raise EnvironmentFailed(f"session folder {str(root)!r} cannot be removed: {reason}")
