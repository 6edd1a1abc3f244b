"""Whether a fetched folder still is what was fetched. Blocking, in bounded memory."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agentcompass.datasets.place import MARKER


def inventory(folder: Path) -> dict[str, dict[str, Any]]:
    """Every file below `folder` by its path: its `size` in bytes and `sha256`, or its `link`."""
    return {name: _entry(folder / name) for name in _names(folder)}


def differences(folder: Path, files: Mapping[str, Any], *, content: bool) -> list[str]:
    """How `folder` differs from the inventory `files`, one line for each file.

    Without `content` only by names and sizes, which reads no file.
    """
    there = set(_names(folder))
    found = [f"{name} is missing" for name in sorted(set(files) - there)]
    found += [f"{name} was not fetched" for name in sorted(there - set(files))]
    for name in sorted(there & set(files)):
        if fault := _difference(folder / name, files[name], content=content):
            found.append(f"{name} {fault}")
    return found


def _difference(path: Path, noted: Mapping[str, Any], *, content: bool) -> str:
    if path.is_symlink() or "link" in noted:
        return "" if _link(path) == noted.get("link") else "is another link than was fetched"
    if (size := path.stat().st_size) != noted.get("size"):
        return f"has {size} bytes, and {noted.get('size')} were fetched"
    if content and (digest := sha256_of(path)) != noted.get("sha256"):
        return f"has the SHA-256 {digest}, and {noted.get('sha256')} was fetched"
    return ""


def _entry(path: Path) -> dict[str, Any]:
    if path.is_symlink():
        return {"link": _link(path)}
    return {"size": path.stat().st_size, "sha256": sha256_of(path)}


def _link(path: Path) -> str | None:
    return os.fsencode(path.readlink()).decode("utf-8", "replace") if path.is_symlink() else None


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _names(folder: Path) -> Iterator[str]:
    for where, folders, files in os.walk(folder):
        links = [name for name in folders if (Path(where) / name).is_symlink()]
        for name in (*files, *links):
            path = (Path(where) / name).relative_to(folder).as_posix()
            if path != MARKER:
                yield path
