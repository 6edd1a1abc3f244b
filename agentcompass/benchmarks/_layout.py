"""Gives a session what a task's image has by the format: folders, files, and its good health."""

from pathlib import Path
from typing import Any

import trio

from agentcompass.benchmarks._context import ContextEntry, context_entries
from agentcompass.benchmarks._health import HealthCheck, wait_until_healthy
from agentcompass.errors import EnvironmentFailed
from agentcompass.protocols import Session
from agentcompass.records.task import TaskSpec

_LOGS = '"${LOGS_DIR:-/logs}/agent" "${LOGS_DIR:-/logs}/verifier" "${LOGS_DIR:-/logs}/artifacts"'
_MAKE_FOLDERS = f'mkdir -p -- "$1" {_LOGS}'
# An agent that is not the session's own user has to be able to write its logs.
_OPEN_LOGS = f"chmod a+rwX -- {_LOGS}"

# Moves what is in $1 to the working directory, except where the agent left something.
_FILL_IN = """
cd -- "$1" && find . ! -type d -exec sh -c '
for file do
    [ -e "../$file" ] || [ -L "../$file" ] || {
        mkdir -p -- "../${file%/*}" && mv -- "$file" "../$file"
    } || :
done' sh {} + && cd .. && rm -rf -- "$1"
"""
_STAGING = ".agentcompass-context"


async def lay_out(task: TaskSpec, session: Session) -> None:
    """Make Harbor's folders, and the files beside the Dockerfile where no image has them.

    Returns once the task's health check succeeds.
    """
    await _make_folders(task, session)
    if not _has_context(task, session):
        await _copy_context(task, session, into="")
    await _be_healthy(task, session, "healthcheck")


async def lay_out_again(task: TaskSpec, session: Session) -> None:
    """Give a fresh session what an image would have; restored artifacts are there and stay."""
    await _make_folders(task, session)
    # a verifier's own image has nothing of the task's
    if not (_has_context(task, session) or task.metadata.get("tests_in_image")):
        await _run(session, 'mkdir -p -- "$1"', _STAGING)
        await _copy_context(task, session, into=f"{_STAGING}/")
        await _run(session, _FILL_IN, _STAGING)
    await _be_healthy(task, session, "verifier_healthcheck")


async def _be_healthy(task: TaskSpec, session: Session, name: str) -> None:
    check = task.metadata.get(name)
    if check is not None:
        await wait_until_healthy(HealthCheck(**check), session)


def _has_context(task: TaskSpec, session: Session) -> bool:
    """Whether the session's image was built from environment/, by the provider or before.

    As in Harbor, the image that a task names was, where there is a Dockerfile.
    """
    if getattr(session, "built_context", False):
        return True
    published, dockerfile = task.setup.image, task.setup.build_context
    running = getattr(session, "image", None)
    return published is not None and dockerfile is not None and running == published


async def _make_folders(task: TaskSpec, session: Session) -> None:
    script = _MAKE_FOLDERS
    if task.metadata.get("agent_user") is not None:
        script = f"{script} && {_OPEN_LOGS}"
    await _run(session, script, session.workdir, cwd="/")


async def _copy_context(task: TaskSpec, session: Session, *, into: str) -> None:
    folder = task.metadata.get("environment_dir")
    if folder is None:
        return
    try:
        entries = await trio.to_thread.run_sync(context_entries, Path(folder))
    except (OSError, UnicodeDecodeError) as error:
        raise EnvironmentFailed(f"environment/ cannot be read: {error}") from error
    for entry in entries:
        await _copy(entry, session, f"{into}{entry.target}")


async def _copy(entry: ContextEntry, session: Session, target: str) -> None:
    if entry.link is None:
        await session.upload(entry.source, target)
    else:
        parent = str(Path(target).parent)
        await _run(session, 'mkdir -p -- "$1" && ln -sfn -- "$2" "$3"', parent, entry.link, target)


async def _run(session: Session, script: str, *arguments: str, **options: Any) -> None:
    done = await session.exec(["sh", "-c", script, "sh", *arguments], **options)
    if not done.ok:
        raise EnvironmentFailed(f"the task's files could not be laid out: {done.stderr[-200:]}")
