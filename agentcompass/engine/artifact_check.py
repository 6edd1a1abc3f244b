"""Whether collected artifacts are still what their manifest says, and lie where it says."""

from collections.abc import Callable
from pathlib import Path, PurePosixPath

from agentcompass.engine.digest import digest_tree, go_on
from agentcompass.errors import StoreError
from agentcompass.records.artifacts import ArtifactEntry, ArtifactManifest


class ArtifactsInvalid(StoreError):
    """An artifact is not what its manifest says; the message names it and says why."""

    code = "artifacts_invalid"


def validate_artifacts(
    folder: Path, manifest: ArtifactManifest, *, check: Callable[[], None] = go_on
) -> None:
    """Raise `ArtifactsInvalid` unless `folder` holds what `manifest` says was collected.

    Blocking: everything is read. `check` is called again and again and may raise to break off.
    """
    for entry in manifest.entries:
        fault = _misplaced(entry)
        if not fault and entry.status == "collected":
            fault = _behind_link(folder, entry) or _changed(folder, entry, check)
        if fault:
            raise ArtifactsInvalid(f"artifact {entry.source!r} {fault}")


def leaves_folder(destination: str) -> bool:
    """Whether a destination, which is to be relative, is outside the artifacts folder."""
    return destination.startswith("/") or ".." in PurePosixPath(destination).parts


def _misplaced(entry: ArtifactEntry) -> str:
    outside = leaves_folder(entry.destination)
    return f"is outside the artifacts folder, at {entry.destination!r}" if outside else ""


def _behind_link(folder: Path, entry: ArtifactEntry) -> str:
    local = folder / entry.destination
    inside = [path for path in (local, *local.parents) if path.is_relative_to(folder)]
    linked = any(path.is_symlink() for path in inside)
    return f"is behind a link, at {entry.destination!r}" if linked else ""


def _changed(folder: Path, entry: ArtifactEntry, check: Callable[[], None]) -> str:
    try:
        found = digest_tree(folder / entry.destination, check=check)
    except (FileNotFoundError, NotADirectoryError):
        return "is gone"
    except OSError as error:
        return f"cannot be read: {error}"
    for name in ("kind", "size_bytes", "file_count", "sha256"):
        now, then = getattr(found, name), getattr(entry, name)
        if now != then:
            return f"has changed: its {name} is {now!r}, and was {then!r} when it was collected"
    return ""
