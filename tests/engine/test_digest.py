"""The digest of what was collected: by names as they are, modes and contents."""

import os
from pathlib import Path

from agentcompass.engine.digest import digest_tree


def test_a_name_that_is_no_utf8_has_a_digest(tmp_path: Path) -> None:
    """cases.md 24. Fails when names are encoded strictly."""
    odd = os.fsencode(tmp_path) + b"/x\xbc"
    Path(os.fsdecode(odd)).write_bytes(b"1")
    (tmp_path / "link").symlink_to(os.fsdecode(odd))
    before = digest_tree(tmp_path)
    Path(os.fsdecode(odd)).write_bytes(b"2")

    assert before.file_count == 1
    assert digest_tree(tmp_path).sha256 != before.sha256


def test_a_mode_is_part_of_the_digest(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("x")
    file.chmod(0o644)
    before = digest_tree(file).sha256
    file.chmod(0o755)

    assert digest_tree(file).sha256 != before
