"""A file comes whole and as it is pinned, over every connection, or not at all."""

import logging
from functools import partial

import pytest
import trio

from agentcompass.datasets.check import differences
from agentcompass.datasets.fetch import fetch
from agentcompass.datasets.place import read_marker
from agentcompass.errors import DataUnavailable
from tests.datasets.files import ROWS, place, redirect, served, unsized
from tests.loopback import answer, hang, serve

QUICK = (0.01, 0.01)


def bytes_of(target):
    return (target / "rows.jsonl").read_bytes()


def nothing_counts(where):
    return where.state() == "missing" and not where.target.exists()


async def test_a_file_is_fetched_checked_and_marked_as_complete(tmp_path, caplog):
    caplog.set_level(logging.INFO, "agentcompass")
    async with serve(served()) as server:
        where = place(tmp_path, server.url)
        await fetch(where)

    assert bytes_of(where.target) == ROWS
    assert where.state() == "complete"
    marker = read_marker(where.target)
    assert marker["revision"] == "7"
    assert marker["checksum"] == where.data_set.checksum
    assert differences(where.target, marker["files"], content=True) == []
    assert [path.name for path in tmp_path.iterdir()] == ["toys"]
    assert "fetching data set toys, revision 7, from http://toys.example" in caplog.text
    assert f"{len(ROWS)} of {len(ROWS)} bytes (100 %)" in caplog.text


async def test_a_cut_connection_goes_on_where_it_broke_off(tmp_path):
    async with serve(served(stop_at=70_000), served(stop_at=150_000), served()) as server:
        where = place(tmp_path, server.url)
        await fetch(where, pauses=QUICK)

    assert bytes_of(where.target) == ROWS
    starts = [asked.headers.get("range") for asked in server.asked]
    assert starts == [None, "bytes=70000-", "bytes=150000-"]
    assert [asked.headers.get("if-range") for asked in server.asked] == [None, '"one"', '"one"']


async def test_what_an_earlier_process_got_is_used(tmp_path):
    async with serve(served(stop_at=70_000), answer({}, status=503)) as server:
        where = place(tmp_path, server.url)
        with pytest.raises(DataUnavailable, match="answers 503, with 70000 of"):
            await fetch(where, pauses=QUICK)
    assert nothing_counts(where)

    async with serve(served()) as server:
        where = place(tmp_path, server.url)
        await fetch(where, pauses=QUICK)
    assert server.asked[0].headers["range"] == "bytes=70000-"
    assert bytes_of(where.target) == ROWS


async def test_a_file_that_changed_meanwhile_is_fetched_from_its_beginning(tmp_path):
    old = b"x" * len(ROWS)
    async with serve(served(old, etag='"old"', stop_at=70_000), served()) as server:
        where = place(tmp_path, server.url)
        await fetch(where, pauses=QUICK)

    assert server.asked[1].headers["if-range"] == '"old"'
    assert bytes_of(where.target) == ROWS


async def test_a_wrong_beginning_is_fetched_once_more(tmp_path):
    """The server has no validators: only the checksum can tell."""
    old = b"x" * len(ROWS)
    async with serve(served(old, etag="", stop_at=70_000), served(etag="")) as server:
        where = place(tmp_path, server.url)
        await fetch(where, pauses=QUICK)

    starts = [asked.headers.get("range") for asked in server.asked]
    assert starts == [None, "bytes=70000-", None]
    assert bytes_of(where.target) == ROWS


async def test_a_wrong_checksum_names_both_and_keeps_nothing(tmp_path):
    wrong = b"y" * len(ROWS)
    async with serve(served(wrong)) as server:
        where = place(tmp_path, server.url)
        with pytest.raises(DataUnavailable) as caught:
            await fetch(where, pauses=QUICK)

    text = str(caught.value)
    assert where.data_set.source[0].sha256 in text
    assert "has the SHA-256 f" in text or "has the SHA-256 " in text
    assert text.count("SHA-256") == 1
    assert nothing_counts(where)
    assert not where.staging.exists()


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (served(ROWS[:-9]), f"has {len(ROWS) - 9} bytes, and {len(ROWS)} are pinned"),
        (served(ROWS + b"more"), f"has {len(ROWS) + 4} bytes, and {len(ROWS)} are pinned"),
        (unsized(ROWS + b"more"), f"has more bytes, and {len(ROWS)} are pinned"),
        (unsized(ROWS[:-9]), f"ended early, with {len(ROWS) - 9} of {len(ROWS)} bytes here"),
        (answer({}, status=404), "the server answers 404"),
        (answer({}, status=403), "the server answers 403"),
    ],
    ids=["shorter", "longer", "longer, unsized", "shorter, unsized", "404", "403"],
)
async def test_what_is_not_the_pinned_file_is_refused(tmp_path, act, said):
    async with serve(act) as server:
        where = place(tmp_path, server.url)
        with pytest.raises(DataUnavailable) as caught:
            await fetch(where, pauses=())

    assert said in str(caught.value)
    assert (
        f"by hand: put rows.jsonl, of http://toys.example at revision 7, into {where.target}"
        in str(caught.value)
    )
    assert nothing_counts(where)


async def test_a_redirect_is_followed(tmp_path):
    async with serve(served()) as cdn:
        async with serve(redirect(cdn.url)) as hub:
            where = place(tmp_path, hub.url)
            await fetch(where)

    assert bytes_of(where.target) == ROWS


async def test_without_a_network_the_way_by_hand_is_told_at_once(tmp_path):
    async with serve(served()) as server:
        pass
    where = place(tmp_path, server.url)

    with pytest.raises(DataUnavailable, match=r"cannot be fetched: http://127.*by hand: put rows"):
        await fetch(where, pauses=(999,))


async def test_a_cancelled_download_keeps_its_beginning(tmp_path):
    async with serve(served(stop_at=70_000), hang) as server:
        where = place(tmp_path, server.url)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(fetch, where, pauses=QUICK))
            with trio.fail_after(30):
                while len(server.asked) < 2:  # noqa: ASYNC110  # the second answer never comes
                    await trio.sleep(0.01)
            nursery.cancel_scope.cancel()

    assert nothing_counts(where)
    assert any(path.stat().st_size for path in where.staging.iterdir())


async def test_a_silent_server_is_left_at_the_deadline(tmp_path):
    async with serve(hang) as server:
        where = place(tmp_path, server.url)
        with trio.move_on_after(0.2) as scope:
            await fetch(where)

    assert scope.cancelled_caught
    assert nothing_counts(where)
