"""A folder with a data set is there whole or not at all, and the user's own is never touched."""

import errno
import hashlib
import shutil

import attrs
import pytest
import trio

from agentcompass.datasets.fetch import fetch, require_unchanged
from agentcompass.datasets.part import Part
from agentcompass.datasets.place import MARKER, Place
from agentcompass.errors import DataUnavailable
from agentcompass.records.data_set import DataFile
from tests.datasets.files import ROWS, data_set, place, served
from tests.loopback import serve


async def test_what_is_there_is_not_fetched_again_unless_that_is_asked(tmp_path):
    async with serve(served()) as server:
        where = place(tmp_path, server.url)
        await fetch(where)
        await fetch(where)
        assert len(server.asked) == 1
        (where.target / "rows.jsonl").write_bytes(b"mine")
        await fetch(where, again=True)

    assert len(server.asked) == 2
    assert (where.target / "rows.jsonl").read_bytes() == ROWS
    assert [path.name for path in tmp_path.iterdir()] == ["toys"]


async def test_another_revision_replaces_the_one_that_was_fetched(tmp_path):
    new = ROWS + b"{}\n"
    async with serve(served(), served(new)) as server:
        await fetch(place(tmp_path, server.url))
        where = place(tmp_path, server.url, data=new, name="rows-2.jsonl")
        assert where.state() == "other revision"
        await fetch(where)

    assert where.state() == "complete"
    assert sorted(path.name for path in where.target.iterdir()) == [MARKER, "rows-2.jsonl"]


async def test_a_link_to_a_data_set_elsewhere_is_replaced_and_not_followed(tmp_path):
    async with serve(served()) as server:
        elsewhere = place(tmp_path / "elsewhere", server.url)
        await fetch(elsewhere)
        where = place(tmp_path, server.url)
        where.target.symlink_to(elsewhere.target)
        assert where.state() == "complete"
        await fetch(where, again=True)

    assert not where.target.is_symlink()
    assert where.state() == elsewhere.state() == "complete"


async def test_a_folder_that_the_user_filled_stays(tmp_path):
    where = place(tmp_path, "http://127.0.0.1:9/never")
    where.target.mkdir()
    (where.target / "own.jsonl").write_bytes(b"own")

    with pytest.raises(DataUnavailable, match="not fetched, and stays as it is"):
        await fetch(where, again=True)
    assert where.state() == "your own"
    assert (where.target / "own.jsonl").read_bytes() == b"own"


async def test_two_that_want_the_same_fetch_it_once(tmp_path):
    async with serve(served()) as server:
        where = place(tmp_path, server.url)
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(fetch, where)

    assert len(server.asked) == 1
    assert where.state() == "complete"


async def test_of_several_files_those_that_are_whole_are_kept(tmp_path):
    async with serve(served(), served(b"two", stop_at=1), served(b"two")) as server:
        files = [
            DataFile(name=name, url=server.url, sha256=hashlib.sha256(data).hexdigest(), size=size)
            for name, data, size in (("a/one", ROWS, len(ROWS)), ("two", b"two", 3))
        ]
        where = Place(data_dir=tmp_path, data_set=data_set(*files))
        with pytest.raises(DataUnavailable):
            await fetch(where, pauses=())
        assert where.state() == "missing"
        await fetch(where, pauses=())

    assert (where.target / "a/one").read_bytes() == ROWS
    assert (where.target / "two").read_bytes() == b"two"
    assert len(server.asked) == 3


async def test_what_another_revision_left_half_fetched_does_not_come_along(tmp_path):
    async with serve(served()) as server:
        where = place(tmp_path, server.url)
        where.staging.mkdir()
        (where.staging / "old.parquet").write_bytes(b"old")
        (where.staging / "rows.jsonl.partial").write_bytes(b"old")
        await fetch(where)

    assert sorted(path.name for path in where.target.iterdir()) == [MARKER, "rows.jsonl"]


async def test_too_little_room_is_said_before_anything_is_fetched(tmp_path, monkeypatch):
    free = shutil.disk_usage(tmp_path).free
    where = place(tmp_path, "http://127.0.0.1:9/never")
    huge = attrs.evolve(where.data_set.source[0], size=free * 2)
    where = attrs.evolve(where, data_set=data_set(huge))

    with pytest.raises(DataUnavailable, match=f"bytes free, and {free * 2} are needed"):
        await fetch(where)


async def test_a_disk_that_fills_up_is_told_and_what_came_is_kept(tmp_path, monkeypatch):
    append = Part.append

    def full(self, block):
        if self.size:
            raise OSError(errno.ENOSPC, "No space left on device")
        append(self, block)

    monkeypatch.setattr(Part, "append", full)
    async with serve(served(ROWS * 20)) as server:
        where = place(tmp_path, server.url, data=ROWS * 20)
        with pytest.raises(DataUnavailable, match="No space left on device: make room"):
            await fetch(where)

    assert where.state() == "missing"
    assert (where.staging / "rows.jsonl.partial").stat().st_size > 0


async def test_data_that_were_changed_after_the_fetch_are_named(tmp_path):
    async with serve(served()) as server:
        where = place(tmp_path, server.url)
        await fetch(where)
    require_unchanged(where)
    (where.target / "rows.jsonl").write_bytes(b"torn")
    (where.target / "more.jsonl").write_bytes(b"")

    with pytest.raises(DataUnavailable) as caught:
        require_unchanged(where)
    assert "more.jsonl was not fetched and 1 more" in str(caught.value)
    assert "agentcompass data fetch --again toys" in str(caught.value)


async def test_a_data_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    where = place(tmp_path / "file" / "data", "http://127.0.0.1:9/never")

    with pytest.raises(DataUnavailable, match="Not a directory"):
        await fetch(where)
