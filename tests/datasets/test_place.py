"""What a folder is taken for: whole, another revision, the user's own, or nothing."""

from pathlib import Path

import pytest

from agentcompass.datasets.fetch import fetch
from agentcompass.datasets.place import MARKER
from agentcompass.errors import DataUnavailable
from tests.datasets.files import ROWS, place, served
from tests.loopback import serve

NOWHERE = "http://127.0.0.1:9/never"


def test_nothing_and_hidden_files_are_nothing(tmp_path):
    where = place(tmp_path, NOWHERE)
    assert where.state() == "missing"
    where.target.mkdir()
    (where.target / ".DS_Store").write_bytes(b"")

    assert where.state() == "missing"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "is damaged: .*; remove"),
        (b"[]", "is not of this version; remove"),
        (b'{"schema_version": "agentcompass.data_set.v9"}', "is not of this version"),
    ],
)
def test_a_marker_that_cannot_be_read_is_named(tmp_path, content, said):
    where = place(tmp_path, NOWHERE)
    where.target.mkdir()
    (where.target / MARKER).write_bytes(content)

    with pytest.raises(DataUnavailable, match=said):
        where.state()


def test_a_file_where_the_folder_should_be_is_named(tmp_path):
    where = place(tmp_path, NOWHERE)
    where.target.write_bytes(b"")

    with pytest.raises(DataUnavailable, match="toys cannot be read: Not a directory"):
        where.state()


@pytest.mark.parametrize("step", [1, 2, 3])
async def test_a_crash_at_any_rename_leaves_what_was_there_or_nothing(tmp_path, monkeypatch, step):
    """The file gets its name, the old folder goes aside, the new one comes: killed before each."""
    async with serve(served()) as server:
        where = place(tmp_path, server.url)
        await fetch(where)
        rename, steps = Path.rename, iter(range(1, 9))

        def killed(path, target):
            if next(steps) == step:
                raise KeyboardInterrupt
            return rename(path, target)

        monkeypatch.setattr(Path, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            await fetch(where, again=True)
        monkeypatch.setattr(Path, "rename", rename)

        assert where.state() == ("missing" if step == 3 else "complete")
        await fetch(where, again=True)

    assert where.state() == "complete"
    assert (where.target / "rows.jsonl").read_bytes() == ROWS
    assert sorted(path.name for path in tmp_path.iterdir()) == ["toys"]
