"""A folder of a git repository at a pinned commit, by the program `git`."""

import logging
import os
import shutil
import signal
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import trio

from agentcompass.deadlines import CleanupClock, cleanup
from agentcompass.errors import DataUnavailable
from agentcompass.records.data_set import GitTree

# What would make git work on another repository than the one it is told, as inside of a hook.
_ELSEWHERE = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
)
# The bytes as they are committed, and no waiting for a server that sends next to nothing.
_SETTINGS = (
    *("-c", "core.autocrlf=false", "-c", "advice.detachedHead=false"),
    *("-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=60"),
)
_REFUSALS = ("not our ref", "unadvertised object", "allow request for")
_CLEANUP_SECONDS = 60.0
_LFS_POINTER = b"version https://git-lfs"

_Git = Callable[..., Awaitable[str]]

log = logging.getLogger(__name__)


async def fetch_tree(tree: GitTree, folder: Path) -> None:
    """Make `folder`, which must not exist, the tree without its history.

    Nothing of an earlier try is used: git does not continue a broken transfer. Raises
    `DataUnavailable` with what git said.
    """
    repository = folder.with_name(f"{folder.name}.git")
    await trio.to_thread.run_sync(_clear, repository)
    try:
        await _check_out(tree, repository)
        await trio.to_thread.run_sync(_take, repository, tree, folder)
    finally:
        with cleanup(CleanupClock(_CLEANUP_SECONDS)):
            await trio.to_thread.run_sync(_clear, repository)


async def _check_out(tree: GitTree, repository: Path) -> None:
    await _git("init", "--quiet", "--template=", str(repository))
    git = partial(_git, "-C", str(repository))
    await git("remote", "add", "origin", tree.url)
    await _fetch_commit(git, tree)
    await git("checkout", "--quiet", "--detach", tree.commit)
    head = (await git("rev-parse", "HEAD")).strip()
    if head != tree.commit:
        raise DataUnavailable(f"{tree.url} has {head} where the commit {tree.commit} is pinned")
    await _fetch_large(git, tree, repository)


async def _fetch_commit(git: _Git, tree: GitTree) -> None:
    """The one commit without its history; all branches from a server that gives no less."""
    try:
        await git("fetch", "--quiet", "--no-tags", "--depth=1", "origin", tree.commit)
    except DataUnavailable as error:
        if not any(refusal in str(error) for refusal in _REFUSALS):
            raise
        log.info("%s gives no single commits: fetching its branches", tree.url)
        await git("fetch", "--quiet", "origin")


async def _fetch_large(git: _Git, tree: GitTree, repository: Path) -> None:
    """The files that git-lfs keeps elsewhere."""
    if await trio.to_thread.run_sync(_pointers, repository, tree) == []:
        return
    try:
        await git("lfs", "install", "--local")
        await git("lfs", "pull")
    except DataUnavailable as error:
        raise DataUnavailable(f"files of it need the program git-lfs: {error}") from error
    if left := await trio.to_thread.run_sync(_pointers, repository, tree):
        raise DataUnavailable(f"git-lfs did not fetch {left[0]}")


def _pointers(repository: Path, tree: GitTree) -> list[str]:
    """The files that only say what git-lfs should put there."""
    root = repository / tree.subfolder
    return [str(path.relative_to(root)) for path in _files(root) if _is_pointer(path)]


def _files(root: Path) -> Iterator[Path]:
    for where, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        yield from (Path(where) / name for name in names)


def _is_pointer(path: Path) -> bool:
    if path.is_symlink() or path.stat().st_size > 1024:
        return False
    return path.read_bytes().startswith(_LFS_POINTER)


def _take(repository: Path, tree: GitTree, folder: Path) -> None:
    source = repository / tree.subfolder
    inside = source.resolve().is_relative_to(repository.resolve())
    if not inside or not source.is_dir():
        raise DataUnavailable(f"{tree.url} has no folder {tree.subfolder!r} at {tree.commit}")
    shutil.rmtree(repository / ".git")
    source.rename(folder)


def _clear(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)


async def _git(*arguments: str) -> str:
    """What git prints; cancelled, its whole process group is gone."""
    kept = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
    # No question for a password that nobody is there to answer; large files come in one go.
    variables = {**kept, "GIT_TERMINAL_PROMPT": "0", "GIT_LFS_SKIP_SMUDGE": "1", "LC_ALL": "C"}
    try:
        ended = await trio.run_process(
            ["git", *_SETTINGS, *arguments],
            stdin=subprocess.DEVNULL,
            capture_stdout=True,
            capture_stderr=True,
            check=False,
            env=variables,
            start_new_session=True,
            deliver_cancel=_kill_group,
        )
    except FileNotFoundError as error:
        raise DataUnavailable("the program git is needed, and is not installed") from error
    if ended.returncode:
        said = " ".join(ended.stderr.decode(errors="replace").split())
        verb = arguments[2] if arguments[0] == "-C" else arguments[0]
        raise DataUnavailable(f"git {verb}: {said[-500:]}")
    return ended.stdout.decode(errors="replace")


async def _kill_group(process: trio.Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
