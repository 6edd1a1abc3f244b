"""A copy of a mirror on this host that ends at one commit: nothing that came later is in it."""

import os
from pathlib import Path

import trio

from agentcompass.errors import EnvironmentFailed

# As protocol 2 does by itself, serve a commit that is not the tip of a branch.
_SERVE = "git -c uploadpack.allowAnySHA1InWant=true upload-pack"

# No complaint that the files are another user's, and no log, which would name this host's folders.
SETTINGS = ("-c", "safe.directory=*", "-c", "core.logAllRefUpdates=false")


def mirror_of(folder: Path, repo: str) -> Path:
    """Where the mirror of OWNER/NAME is looked for: `<folder>/<owner>__<name>.git`, absolute."""
    return folder.absolute() / f"{repo.replace('/', '__')}.git"


async def repository_at(mirror: Path, commit: str, folder: Path) -> None:
    """Make `folder` a `.git` with `commit` as its branch `main`, what led to it and its tags.

    Raises `EnvironmentFailed` for a mirror that lacks the commit, or objects of it.
    """
    await _git(mirror, "cat-file", "-e", f"{commit}^{{commit}}")
    await _git(folder, "init", "--quiet", "--bare", "--template=", "--initial-branch=main", ".")
    await _git(folder, "config", "core.bare", "false")
    listing = ("for-each-ref", f"--merged={commit}", "--format=+%(refname):%(refname)", "refs/tags")
    tags = (await _git(mirror, *listing)).split()
    await _git(
        folder,
        *(
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--update-head-ok",
            f"--upload-pack={_SERVE}",
        ),
        *("--", str(mirror), f"{commit}:refs/heads/main", *tags),
    )


async def _git(folder: Path, *arguments: str) -> str:
    """What git prints in a `.git` folder, with no settings of this host."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = await trio.run_process(
        ["git", *SETTINGS, f"--git-dir={folder}", *arguments],
        env={**plain, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C"},
        cwd=folder,
        capture_stdout=True,
        capture_stderr=True,
        check=False,
    )
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip()[-300:]
        raise EnvironmentFailed(f"git {arguments[0]} in {folder} failed: {said}")
    return done.stdout.decode("utf-8", "surrogateescape")
