"""What is exported takes its place whole, or leaves nothing."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agentcompass.errors import UsageError


def check_target(directory: Path, target: Path, *, kind: str, label: str) -> None:
    """Refuse a `target`, which is to become a `kind` (`file`, `folder`), that would not do."""
    free = not os.path.lexists(target) or (kind == "folder" and _is_empty(target))
    if not free:
        raise UsageError(f"{label}: {target} exists; name a {kind} that does not")
    if target.resolve().is_relative_to(directory.resolve()):
        raise UsageError(f"{label}: {target} is inside the run directory, which is not changed")


def _is_empty(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and next(path.iterdir(), None) is None


@contextmanager
def made_at_once(target: Path, *, name: str = "") -> Iterator[Path]:
    """A new folder on the way to `target` that takes its place at the end, or is removed.

    With `name`, only that file of the folder takes the place.
    """
    near = next(parent for parent in target.parents if parent.exists())
    folder = near / f".{target.name}.{secrets.token_hex(8)}.tmp"
    folder.mkdir()
    try:
        yield folder
        target.parent.mkdir(parents=True, exist_ok=True)
        (folder / name).rename(target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
