"""What every environment keeps: results, deadlines, cancellation, files, closing."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import attrs
import pytest
import trio

from agentcompass.config.components import members
from agentcompass.errors import ArtifactOverBudget, EnvironmentFailed
from agentcompass.protocols import Environment, Session
from agentcompass.records.environment import NetworkPolicy, Transfer, TransferLimits
from tests.contract.environment import ALL, Provider, opened

# A command that hangs would take 60 s; whoever is back before this did not wait for it.
SOON = 20.0


@pytest.fixture(params=ALL, ids=str)
def provider(request: pytest.FixtureRequest) -> Provider:
    return request.param


@pytest.fixture
async def session(provider: Provider) -> AsyncIterator[Session]:
    async with opened(provider) as session:
        yield session


def test_a_provider_has_all_that_the_engine_asks_for(provider):
    environment = provider.make()

    assert [name for name in members(Environment) if not hasattr(environment, name)] == []


async def test_a_result_tells_output_errors_and_code_apart(session):
    result = await session.exec("printf out; printf err >&2; exit 3")

    assert (result.stdout, result.stderr, result.exit_code) == ("out", "err", 3)
    assert not result.timed_out
    assert not result.ok


@pytest.mark.parametrize("code", [0, 1, 124, 137, 143, 255])
async def test_an_exit_code_is_the_commands_own_and_no_timeout(session, code):
    result = await session.exec(f"exit {code}", timeout_seconds=SOON)

    assert (result.exit_code, result.timed_out) == (code, False)


async def test_a_timeout_has_no_code_and_keeps_what_was_printed(session):
    with trio.fail_after(SOON):
        result = await session.exec("printf partial; sleep 60", timeout_seconds=0.3)

    assert (result.exit_code, result.timed_out, result.stdout) == (None, True, "partial")


async def test_the_next_command_works_after_a_timeout(session):
    await session.exec("sleep 60", timeout_seconds=0.1)

    result = await session.exec("printf again")

    assert result.ok
    assert result.stdout == "again"


async def test_a_cancelled_command_is_given_up_at_once(session):
    with trio.fail_after(SOON):
        with trio.move_on_after(0.2) as scope:
            await session.exec("sleep 60")

    assert scope.cancelled_caught
    assert (await session.exec("printf on")).stdout == "on"


async def test_other_commands_go_on_while_one_runs_out_of_time(session):
    async def run_out_of_time() -> None:
        await session.exec("sleep 60", timeout_seconds=0.1)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_out_of_time)
        result = await session.exec("printf a; sleep 0.4; printf b", timeout_seconds=SOON)

    assert (result.stdout, result.exit_code) == ("ab", 0)


async def test_a_written_file_is_read_back_byte_for_byte(session):
    data = bytes(range(256)) * 3 + b"\r\n\0"

    await session.write("deep/er/file.bin", data)

    assert await session.read("deep/er/file.bin") == data
    assert await session.read(f"{session.workdir}/deep/er/file.bin") == data


async def test_writing_replaces_what_is_there(session):
    await session.write("file", b"long ago")

    await session.write("file", b"now")

    assert await session.read("file") == b"now"


async def test_reading_or_downloading_what_is_not_there_says_so(session, tmp_path):
    await session.write("file", b"")
    for path in ("missing", "/app/no/such/file", "file/below"):
        with pytest.raises(FileNotFoundError):
            await session.read(path)
        with pytest.raises(FileNotFoundError):
            await session.download(path, tmp_path / "target")

    assert not (tmp_path / "target").exists()


async def test_a_folder_is_not_a_file_to_read(session):
    await session.write("folder/file", b"")

    with pytest.raises(EnvironmentFailed):
        await session.read("folder")


def make_tree(folder: Path) -> dict[str, bytes | str | None]:
    """A tree with all that has to survive, and what `look_at` tells of it."""
    (folder / "sub/empty").mkdir(parents=True)
    (folder / "run.sh").write_bytes(b"#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "sub/data.bin").write_bytes(os.urandom(5000) + b"\0\xff")
    (folder / "sub/secret").write_bytes(b"s")
    (folder / "sub/secret").chmod(0o600)
    (folder / "naïve ☃ name\n").write_bytes(b"")
    (folder / "link").symlink_to("sub/data.bin")
    (folder / "dangling").symlink_to("nowhere")
    (folder / "folder-link").symlink_to("sub")
    return look_at(folder)


def look_at(folder: Path) -> dict[str, bytes | str | None]:
    """Every entry below: link target, or mode and content, or None for a folder."""
    found: dict[str, bytes | str | None] = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = str(path.readlink())
        elif path.is_dir():
            found[name] = None
        else:
            found[name] = b"%o " % (path.stat().st_mode & 0o777) + path.read_bytes()
    return found


async def test_a_tree_goes_up_and_comes_down_the_same(session, tmp_path):
    tree = make_tree(tmp_path / "source")

    await session.upload(tmp_path / "source", "made/on/the/way")
    await session.download("made/on/the/way", tmp_path / "here/too")

    assert look_at(tmp_path / "here/too") == tree


async def test_a_file_goes_up_and_comes_down_the_same(session, tmp_path):
    source = tmp_path / "source"
    source.write_bytes(os.urandom(3_000_000))
    source.chmod(0o750)

    await session.upload(source, "/tests/new/file")
    await session.download("/tests/new/file", tmp_path / "also/new")

    assert (tmp_path / "also/new").read_bytes() == source.read_bytes()
    assert (tmp_path / "also/new").stat().st_mode & 0o777 == 0o750


async def test_a_download_leaves_out_what_is_excluded_and_says_what_came(session, tmp_path):
    for path in ("keep/a", "keep/a.log", "cache/b", "c"):
        await session.write(f"tree/{path}", b"xx")

    came = await session.download("tree", tmp_path / "tree", exclude=["*.log", "cache"])
    left_out = await session.download("tree/keep/a.log", tmp_path / "log", exclude=["*.log"])

    assert look_at(tmp_path / "tree").keys() == {"keep", "keep/a", "c"}
    assert came == Transfer(size_bytes=4, entries=3)
    assert left_out == Transfer(size_bytes=0, entries=0)
    assert not (tmp_path / "log").exists()


async def test_a_download_ends_at_the_limit_that_it_passes(session, tmp_path):
    """cases.md 45."""
    for name in "abc":
        await session.write(f"tree/{name}", b"x" * 10)

    enough = TransferLimits(max_bytes=30, max_entries=3)
    assert (await session.download("tree", tmp_path / "all", limits=enough)).size_bytes == 30
    for limits, said in (
        (attrs.evolve(enough, max_bytes=29), "29 bytes"),
        (attrs.evolve(enough, max_entries=2), "2 entries"),
    ):
        with pytest.raises(ArtifactOverBudget, match=said):
            await session.download("tree", tmp_path / said, limits=limits)
        assert len(look_at(tmp_path / said)) <= 2


async def test_an_upload_is_merged_into_what_is_there(session, tmp_path):
    await session.write("folder/kept", b"kept")
    await session.write("folder/file", b"old")
    (tmp_path / "file").write_bytes(b"new")

    await session.upload(tmp_path, "folder")

    assert await session.read("folder/kept") == b"kept"
    assert await session.read("folder/file") == b"new"


@pytest.mark.parametrize("size", [10, 5_000_000])
async def test_nothing_is_written_below_a_file_or_in_place_of_a_folder(session, tmp_path, size):
    """Row 44: the same clear error for a small upload and for a large one."""
    source = tmp_path / "source"
    source.write_bytes(b"x" * size)
    await session.write("file", b"stays")
    await session.write("folder/inside", b"stays")

    for target in ("file/below", "folder"):
        with pytest.raises(EnvironmentFailed, match=target):
            await session.upload(source, target)
    with pytest.raises(EnvironmentFailed, match="file/below"):
        await session.write("file/below", b"")

    assert await session.read("file") == b"stays"
    assert await session.read("folder/inside") == b"stays"


async def test_uploading_what_the_host_does_not_have_is_an_error(session, tmp_path):
    with pytest.raises(EnvironmentFailed, match="not there"):
        await session.upload(tmp_path / "missing", "target")


async def test_the_public_network_policy_is_always_welcome(session):
    await session.set_network_policy(NetworkPolicy())


async def test_closing_twice_is_closing_once(provider):
    session = await provider.make().open(provider.request())

    await session.aclose()
    await session.aclose()

    with pytest.raises(EnvironmentFailed, match="closed"):
        await session.exec("printf late")


async def test_closing_ends_a_command_that_runs(provider):
    session = await provider.make().open(provider.request())
    ended = []

    async def run() -> None:
        with pytest.raises(EnvironmentFailed, match="closed"):
            await session.exec("sleep 60")
        ended.append(True)

    with trio.fail_after(SOON):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            await trio.sleep(0.3)
            await session.aclose()

    assert ended == [True]


async def test_sessions_do_not_see_each_others_files(provider):
    async with opened(provider) as first, opened(provider) as second:
        await first.write("file", b"of the first")

        with pytest.raises(FileNotFoundError):
            await second.read("file")


async def test_a_provider_says_its_limits_and_what_it_can_do(provider):
    environment = provider.make(sandbox_start_timeout=0.0, operation_timeout=7.0)
    await environment.preflight()

    assert environment.sandbox_start_timeout is None
    assert environment.operation_timeout == 7.0
    assert "public" in environment.capabilities.network_modes
    assert environment.id == provider.name
    for field in environment.Config.__attrs_attrs__:
        assert field.metadata["help"]
        assert field.metadata["unit"]
