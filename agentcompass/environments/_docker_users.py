"""Whose files are, by number: tar archives and the Engine API know no names of a container."""

from agentcompass.environments._docker_files import Files
from agentcompass.errors import EnvironmentFailed

# Harbor's folders, whose parent is root's.
_OF_A_TASK = ("/tests", "/solution", "/logs", "/logs/agent", "/logs/verifier", "/logs/artifacts")


async def ids_of(user: str, files: Files) -> tuple[int, int]:
    """User and group id of `user`, `user:group`, or numbers, by the container's own files.

    Raises `EnvironmentFailed` where it does not know the user.
    """
    name, _, group = user.partition(":")
    if name in ("", "root"):
        return 0, 0
    entries = await _entries("/etc/passwd", files)
    found = next((entry for entry in entries if name in (entry[0], entry[2])), None)
    if found is None and not name.isdecimal():
        raise EnvironmentFailed(f"the image has no user {name!r}")
    uid = int(name if found is None else found[2])
    if group.isdecimal():
        return uid, int(group)
    if group:
        groups = await _entries("/etc/group", files)
        gid = next((int(entry[2]) for entry in groups if entry[0] == group), None)
        if gid is None:
            raise EnvironmentFailed(f"the image has no group {group!r}")
        return uid, gid
    return uid, 0 if found is None else int(found[3])


async def give_task_folders(files: Files) -> None:
    """Make what a task uses beside its working directory, where its user may not do so itself."""
    if files.owner[0]:
        for folder in _OF_A_TASK:
            await files.give_folder(folder)


async def _entries(path: str, files: Files) -> list[list[str]]:
    try:
        text = (await files.read(path)).decode(errors="replace")
    except FileNotFoundError:
        return []
    lines = (line.split(":") for line in text.splitlines())
    return [line for line in lines if len(line) >= 4 and line[2].isdecimal()]
