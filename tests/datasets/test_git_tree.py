"""A folder of a git repository at its pinned commit, from repositories on this machine."""

import os
import subprocess
from pathlib import Path

import pytest
import trio

from agentcompass.datasets.fetch import fetch
from agentcompass.datasets.place import MARKER, Place
from agentcompass.errors import DataUnavailable
from agentcompass.records.data_set import DataSet, GitTree

ENV = {
    **{
        f"GIT_{who}_{what}": "t@example"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    },
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
}


def git(folder, *arguments):
    done = subprocess.run(
        ["git", "-C", folder, *arguments], env=ENV, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def repository(tmp_path):
    """Two commits; the first one is what is pinned."""
    folder = tmp_path / "origin"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "tasks/one/tests").mkdir(parents=True)
    (folder / "tasks/one/task.toml").write_bytes(b"version = '1.0'\r\n")
    (folder / "tasks/one/tests/test.sh").write_text("exit 0\n")
    (folder / "tasks/one/tests/test.sh").chmod(0o755)
    (folder / "README").write_text("read\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "first")
    (folder / "tasks/one/task.toml").write_text("later\n")
    git(folder, "commit", "--quiet", "-am", "second")
    return folder


def place(tmp_path, repository, commit, subfolder=""):
    tree = GitTree(url=str(repository), commit=commit, subfolder=subfolder)
    data_set = DataSet(
        id="tree",
        title="t",
        homepage="http://t.example",
        licence="CC0",
        source=tree,
        revision="1",
        looks_for="task folders",
    )
    return Place(data_dir=tmp_path / "data", data_set=data_set)


@pytest.mark.parametrize("scheme", ["file://", ""])
async def test_the_pinned_commit_is_fetched_without_its_history(tmp_path, repository, scheme):
    commit = git(repository, "rev-parse", "HEAD~1")
    where = place(tmp_path, f"{scheme}{repository}", commit, "tasks")
    await fetch(where)

    assert (where.target / "one/task.toml").read_bytes() == b"version = '1.0'\r\n"
    assert os.access(where.target / "one/tests/test.sh", os.X_OK)
    assert names(where.target) == [MARKER, "one"]
    assert names(where.data_dir) == ["tree"]
    assert where.state() == "complete"


async def test_the_whole_repository_is_the_data_set_without_a_subfolder(tmp_path, repository):
    where = place(tmp_path, repository, git(repository, "rev-parse", "HEAD"))
    await fetch(where)

    assert names(where.target) == [MARKER, "README", "tasks"]


async def test_a_commit_that_is_not_there_is_said_and_nothing_is_left(tmp_path, repository):
    where = place(tmp_path, repository, "1" * 40)

    with pytest.raises(DataUnavailable, match=r"not our ref.*|reference is not a tree.*"):
        await fetch(where)
    assert names(where.data_dir) == []


async def test_a_server_that_gives_no_single_commits_gives_its_branches(
    tmp_path, repository, monkeypatch, caplog
):
    """As servers of the old protocol do, unless they are told to."""
    caplog.set_level("INFO", "agentcompass")
    for name, value in {"COUNT": "1", "KEY_0": "protocol.version", "VALUE_0": "0"}.items():
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    where = place(tmp_path, f"file://{repository}", git(repository, "rev-parse", "HEAD~1"), "tasks")
    await fetch(where)

    assert "gives no single commits" in caplog.text
    assert (where.target / "one/task.toml").read_bytes() == b"version = '1.0'\r\n"


async def test_a_git_that_brings_another_commit_is_not_believed(tmp_path, repository, monkeypatch):
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin/git"
    script.write_text(
        '#!/bin/sh\ncase "$*" in *rev-parse*) echo 4444; exit;; esac\n'
        f'PATH={os.environ["PATH"]} exec git "$@"\n'
    )
    script.chmod(0o755)
    commit = git(repository, "rev-parse", "HEAD")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    where = place(tmp_path, repository, commit)

    with pytest.raises(DataUnavailable, match=f"has 4444 where the commit {commit} is pinned"):
        await fetch(where)
    assert names(where.data_dir) == []


async def test_a_folder_that_the_commit_lacks_is_named(tmp_path, repository):
    where = place(tmp_path, repository, git(repository, "rev-parse", "HEAD"), "problems")

    with pytest.raises(DataUnavailable, match="has no folder 'problems' at"):
        await fetch(where)


async def test_a_repository_that_is_not_there_tells_the_way_by_hand(tmp_path):
    where = place(tmp_path, tmp_path / "nowhere", "1" * 40)

    with pytest.raises(DataUnavailable, match=r"does not .*by hand: put task folders"):
        await fetch(where)


async def test_settings_of_a_hook_do_not_lead_git_elsewhere(tmp_path, repository, monkeypatch):
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    where = place(tmp_path, repository, git(repository, "rev-parse", "HEAD"))
    await fetch(where)

    assert where.state() == "complete"


async def test_files_that_only_point_to_large_ones_are_not_taken_for_them(tmp_path, repository):
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
    (repository / "tasks/one/big.bin").write_text(pointer)
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", "pointer")
    where = place(tmp_path, repository, git(repository, "rev-parse", "HEAD"))

    with pytest.raises(DataUnavailable, match="git-lfs"):
        await fetch(where)
    assert where.state() == "missing"


async def test_without_the_program_git_that_is_said(tmp_path, repository, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    where = place(tmp_path, repository, "1" * 40)

    with pytest.raises(DataUnavailable, match="the program git is needed"):
        await fetch(where)


async def test_a_cancellation_ends_git_and_leaves_nothing(tmp_path, monkeypatch):
    """A git that hangs, and its child as well."""
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin/git"
    script.write_text(f"#!/bin/sh\ncd {tmp_path}\nsleep 60 & echo $! > new && mv new child\nwait\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    where = place(tmp_path, tmp_path, "1" * 40)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(fetch, where)
        with trio.fail_after(30):
            while not (tmp_path / "child").exists():  # noqa: ASYNC110  # another process's file
                await trio.sleep(0.01)
        nursery.cancel_scope.cancel()

    child = int((tmp_path / "child").read_text())
    with trio.fail_after(30):
        while _lives(child):  # noqa: ASYNC110  # no event tells of another process's child
            await trio.sleep(0.02)
    assert names(where.data_dir) == []


def _lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
