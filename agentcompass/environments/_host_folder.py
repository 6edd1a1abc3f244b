"""The folder of one host session: made whole or not at all, and removed whatever is in it."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

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


def folders_begin_with(owner: str) -> str:
    """How the path of every folder that is made for `owner` begins. Blocking."""
    return f"{os.path.realpath(tempfile.gettempdir())}/{PREFIX}{owner}-"


def make_folder(workdir: str, *, owner: str = "") -> Path:
    """A new folder, readable by this user alone; `workdir` is relative to its app/. Blocking.

    Raises `EnvironmentFailed` where there is no room for it, and leaves nothing then.
    """
    try:
        root = Path(os.path.realpath(tempfile.mkdtemp(prefix=f"{PREFIX}{owner}-")))
    except OSError as error:
        raise EnvironmentFailed(f"no folder for a session can be made: {error}") from error
    try:
        for part in (*_PARTS, f"app/{workdir}"):
            (root / part).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        shutil.rmtree(root, ignore_errors=True)
        raise EnvironmentFailed(f"the folder of a session cannot be made: {error}") from error
    return root


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
