"""Where a task's paths lie on this host: /app, /tests, /logs and /solution inside one folder."""

import os
import posixpath
from pathlib import Path

import attrs

from agentcompass.errors import EnvironmentFailed

FOLDERS = ("app", "tests", "logs", "solution")


@attrs.frozen
class TaskPaths:
    """The folder of a session, and the working directory in it; both are real paths.

    Relative paths are relative to `workdir`; any other absolute path is the host's own.
    """

    root: Path
    workdir: Path

    def locate(self, path: str) -> Path:
        """The host path of a task path, by its text alone."""
        if "\0" in path:
            raise EnvironmentFailed(f"path {path!r} holds a NUL character")
        if not path.startswith("/"):
            return Path(posixpath.normpath(self.workdir / path))
        text = "/" + posixpath.normpath(path).lstrip("/")
        if text.split("/")[1] in FOLDERS:
            return self.root / text[1:]
        return Path(text)

    def readable(self, path: str) -> Path:
        """As `locate`, for taking away: a path of the session must not lead out by a link.

        Blocking. Else a link to a folder of the host would have that folder copied.
        """
        located = self.locate(path)
        real = Path(os.path.realpath(located))
        if self._holds(located) and not self._holds(real):
            raise EnvironmentFailed(
                f"{path!r} leads out of the session by a link, to {str(real)!r}: name that path"
            )
        return located

    def writable(self, path: str) -> Path:
        """As `locate`, for writing: links on the way are resolved, and none may lead outside.

        The last name is left as it is: a link of that name is replaced, not followed. Blocking.
        """
        located = self.locate(path)
        parent = Path(os.path.realpath(located.parent))
        if not self._holds(parent):
            known = ", ".join(f"/{name}" for name in FOLDERS)
            raise EnvironmentFailed(
                f"{path!r} is outside the session and is not written to; host_process writes"
                f" below {known}, the working directory and {str(self.root)!r}"
            )
        return parent / located.name

    def _holds(self, path: Path) -> bool:
        return path == self.root or self.root in path.parents


def inside_app(path: str) -> str:
    """`path`, absolute or relative to /app, relative to /app; `EnvironmentFailed` elsewhere."""
    text = posixpath.normpath(posixpath.join("/app", path))
    if text != "/app" and not text.startswith("/app/"):
        raise EnvironmentFailed(
            f"the task's working directory {path!r} is not /app or below; host_process has no"
            " other place for it: choose an environment with an image of the task's own"
        )
    return text.removeprefix("/app").lstrip("/")
