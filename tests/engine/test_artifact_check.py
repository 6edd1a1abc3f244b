"""Collected artifacts are what the manifest says, to the bit and the byte, or are refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from agentcompass.engine.artifact_check import ArtifactsInvalid, validate_artifacts
from agentcompass.engine.digest import digest_tree
from agentcompass.records.artifacts import ArtifactEntry, ArtifactManifest
from tests.ordinary_user import ordinary_user


def collected(folder: Path, destination: str, **fields: Any) -> ArtifactEntry:
    """The entry of what lies in `folder` now."""
    found = attrs.asdict(digest_tree(folder / destination))
    return ArtifactEntry(
        source=f"/{destination}", destination=destination, status="collected", **{**found, **fields}
    )


def manifest(*entries: ArtifactEntry) -> ArtifactManifest:
    return ArtifactManifest(directory="artifacts", complete=True, entries=entries)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "out/sub").mkdir(parents=True)
    (tmp_path / "out/file").write_text("work")
    (tmp_path / "out/link").symlink_to("file")
    (tmp_path / "alone").write_text("work")
    return tmp_path


def test_what_was_not_touched_is_valid(folder: Path) -> None:
    missing = ArtifactEntry(source="/x", destination="x", status="missing")

    validate_artifacts(folder, manifest(collected(folder, "out"), missing))
    validate_artifacts(folder, manifest(collected(folder, "alone")))


def replace_link(folder: Path) -> None:
    (folder / "out/link").unlink()
    (folder / "out/link").symlink_to("elsewhere")


CHANGES: dict[str, Callable[[Path], object]] = {
    "its sha256": lambda folder: (folder / "out/file").write_text("fake"),
    "its sha256 ": lambda folder: (folder / "out/file").chmod(0o755),
    "its sha256  ": lambda folder: (folder / "out/sub").rmdir(),
    "its sha256   ": replace_link,
    "its size_bytes": lambda folder: (folder / "out/file").write_text("more work"),
    "its file_count": lambda folder: (folder / "out/new").touch(),
    "is gone": lambda folder: (folder / "out").rename(folder / "moved"),
}


@pytest.mark.parametrize("said", CHANGES)
def test_any_change_is_named(folder: Path, said: str) -> None:
    before = manifest(collected(folder, "alone"), collected(folder, "out"))
    CHANGES[said](folder)

    with pytest.raises(ArtifactsInvalid, match=f"artifact '/out' .*{said.strip()}"):
        validate_artifacts(folder, before)


def test_a_file_in_place_of_a_folder_is_a_change(folder: Path) -> None:
    before = manifest(collected(folder, "out"))
    (folder / "out").rename(folder / "moved")
    (folder / "out").write_text("work")

    with pytest.raises(ArtifactsInvalid, match="kind is 'file', and was 'directory'"):
        validate_artifacts(folder, before)


def test_what_has_no_digest_is_not_trusted(folder: Path) -> None:
    with pytest.raises(ArtifactsInvalid, match="sha256"):
        validate_artifacts(folder, manifest(collected(folder, "out", sha256=None)))


@pytest.mark.parametrize("destination", ["../out", "/out", "a/../../out"])
def test_a_destination_outside_the_folder_is_refused_unread(folder: Path, destination: str) -> None:
    """Also of an entry of which nothing was collected."""
    entry = ArtifactEntry(source="/out", destination=destination, status="missing")

    with pytest.raises(ArtifactsInvalid, match="outside the artifacts folder"):
        validate_artifacts(folder / "out", manifest(entry))


def test_nothing_is_looked_for_behind_a_link(folder: Path) -> None:
    """An upload would follow it, and give the verifier files of this host."""
    before = manifest(collected(folder, "out/file"), collected(folder, "alone"))
    (folder / "out").rename(folder / "real")
    (folder / "out").symlink_to("real")
    with pytest.raises(ArtifactsInvalid, match="'/out/file' is behind a link"):
        validate_artifacts(folder, before)

    (folder / "out").unlink()
    (folder / "real").rename(folder / "out")
    (folder / "alone").unlink()
    (folder / "alone").symlink_to("out/file")
    with pytest.raises(ArtifactsInvalid, match="'/alone' is behind a link"):
        validate_artifacts(folder, before)


def test_what_its_owner_may_not_read_has_a_digest_with_its_mode() -> None:
    """cases.md 45. Fails where the permissions that were lent get into the digest."""
    with ordinary_user() as folder:
        (folder / "out/closed").mkdir(parents=True)
        (folder / "out/closed/file").write_text("inside")
        closed = (folder / "out/closed/file", folder / "out/closed")
        for path in closed:
            path.chmod(0o000)
        entry = collected(folder, "out")

        validate_artifacts(folder, manifest(entry))

        assert (entry.file_count, entry.size_bytes) == (1, 6)
        closed[1].chmod(0o500)
        with pytest.raises(ArtifactsInvalid, match="sha256"):
            validate_artifacts(folder, manifest(entry))


def test_validation_can_be_broken_off(folder: Path) -> None:
    def stop() -> None:
        raise InterruptedError

    entry = collected(folder, "alone")
    with pytest.raises(ArtifactsInvalid, match="cannot be read"):  # it is an OSError here
        validate_artifacts(folder, manifest(entry), check=stop)
