"""Builds end with whoever wants them, and take in no more than they have to."""

import os
import subprocess
import tracemalloc

import pytest
import trio

from agentcompass.environments._docker_context import read_context
from agentcompass.errors import EnvironmentFailed
from agentcompass.records.environment import EnvironmentSetup
from tests.docker_engine import BOOKWORM, NO_ENGINE
from tests.environments.docker_sessions import opened
from tests.processes import new_mark


def slow_build(folder, mark: str) -> None:
    (folder / "Dockerfile").write_text(f"FROM {BOOKWORM}\nRUN sh -c 'sleep 61; : {mark}'\n")


def running(mark: str) -> bool:
    commands = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return mark in commands.stdout


async def until(mark: str, *, runs: bool) -> None:
    with trio.fail_after(20):
        while True:
            if running(mark) is runs:
                return
            await trio.sleep(0.1)


@pytest.mark.parametrize("seconds", [0.5, 4])
@pytest.mark.docker
@NO_ENGINE
async def test_the_time_of_a_build_is_a_deadline_at_which_the_engine_stops(tmp_path, seconds):
    """Whole seconds or not, and although the build may say something now and then."""
    mark = new_mark()
    slow_build(tmp_path, mark)
    setup = EnvironmentSetup(build_context=str(tmp_path), build_timeout_seconds=seconds)

    with trio.fail_after(30), pytest.raises(EnvironmentFailed, match=r"(?i)build.*timeout"):
        async with opened(setup=setup):
            pass

    await until(mark, runs=False)


@pytest.mark.docker
@NO_ENGINE
async def test_a_build_that_nobody_waits_for_any_more_is_stopped(tmp_path):
    mark = new_mark()
    slow_build(tmp_path, mark)

    async def build() -> None:
        async with opened(setup=EnvironmentSetup(build_context=str(tmp_path))):
            pass

    async with trio.open_nursery() as nursery:
        nursery.start_soon(build)
        await until(mark, runs=True)
        nursery.cancel_scope.cancel()

    await until(mark, runs=False)


@pytest.mark.docker
@NO_ENGINE
async def test_what_a_dockerignore_hides_is_neither_sent_nor_part_of_the_image(tmp_path):
    (tmp_path / "Dockerfile").write_text(f"FROM {BOOKWORM}\nCOPY . /app\n")
    (tmp_path / ".dockerignore").write_text("# a remark\nhidden\nfolder\n!folder/but-this\n")
    (tmp_path / "folder").mkdir()
    for name in ("hidden", "folder/not-this", "folder/but-this", "seen"):
        (tmp_path / name).write_text("x")
    os.mkfifo(tmp_path / "hidden-by-nothing")
    async with opened(setup=EnvironmentSetup(build_context=str(tmp_path))) as session:
        told = await session.exec("find . -type f | sort")

    assert "./seen" in told.stdout
    assert "./folder/but-this" in told.stdout
    assert "hidden" not in told.stdout
    assert "not-this" not in told.stdout


def digest(folder) -> str:
    return read_context(folder, "Dockerfile", salt="", check=lambda: None).digest


def test_a_digest_depends_on_what_is_seen_only(tmp_path):
    (tmp_path / ".dockerignore").write_text("hidden\n")
    (tmp_path / "Dockerfile").write_text("FROM x\n")
    (tmp_path / "hidden").write_text("one")
    first = digest(tmp_path)

    (tmp_path / "hidden").write_text("two")
    assert digest(tmp_path) == first
    (tmp_path / "Dockerfile").chmod(0o600)
    assert digest(tmp_path) != first
    (tmp_path / "link").symlink_to("one")
    second = digest(tmp_path)
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("two")
    assert digest(tmp_path) not in (first, second)


def test_a_large_file_is_held_in_memory_by_neither_the_digest_nor_the_archive(tmp_path):
    (tmp_path / "Dockerfile").write_text("FROM x\n")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(64 << 20)
    tracemalloc.start()
    try:
        context = read_context(tmp_path, "Dockerfile", salt="", check=lambda: None)
        size = sum(len(piece) for piece in context.packed(lambda: None))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert size > 64 << 20
    assert most < 16 << 20
