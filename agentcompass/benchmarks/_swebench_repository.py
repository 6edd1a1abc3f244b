"""A repository in a session: at its base commit, without what came later; its patch at the end.

The patch is the difference between two trees, taken by a git directory of our own outside the
repository: whatever the agent did to `.git`, its settings or its attributes, the files decide.
"""

import tempfile
from pathlib import Path

import trio

from agentcompass.benchmarks._swebench_mirror import SETTINGS, repository_at
from agentcompass.errors import EnvironmentFailed
from agentcompass.protocols import Session
from agentcompass.records.environment import ExecResult
from agentcompass.records.task import CollectCommand

PATCH, FAULTS = "/logs/artifacts/model.patch", "/logs/artifacts/model.patch.faults"
# Whatever attributes a repository has: git is to take bytes as they are, a file's line ends too.
AS_THEY_ARE = "* -text !eol -ident -filter !working-tree-encoding !diff !merge"

# No settings but our own, and no complaint that the files are another user's.
_PLAIN_GIT = """
set -euo pipefail
unset ${!GIT_@}
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null XDG_CONFIG_HOME=/dev/null LC_ALL=C
git() { HOME=/dev/null command git -c safe.directory='*' -c gc.auto=0 "$@"; }
start="${LOGS_DIR:-/logs}/start.git"
patch="${LOGS_DIR:-/logs}/artifacts/model.patch"
"""
_NO_GIT, _NO_REPOSITORY, _NO_COMMIT, _LATER_COMMITS = 3, 4, 5, 6

# The public images have one commit of their own on the base commit, where their set-up changed
# files; any other commit is left for the base commit.
_LAY_OUT = f"""{_PLAIN_GIT}
type -P git > /dev/null || exit {_NO_GIT}
[ -e .git ] || exit {_NO_REPOSITORY}
git cat-file -e "$1^{{commit}}" || exit {_NO_COMMIT}
if [ "$(git rev-parse HEAD)" != "$1" ]; then
    [ "$(git rev-parse -q --verify HEAD^ || :) $(git log -1 --format=%s)" = "$1 SWE-bench" ] ||
        git checkout --quiet --force --detach "$1"
fi
"""

# Objects are packed anew only where a later commit is among them: it takes its time.
_FORGET_WHAT_CAME_LATER = f"""{_PLAIN_GIT}
for remote in $(git remote); do git remote remove "$remote"; done
earlier="$(git for-each-ref --merged=HEAD --format='%(refname)')"
{{ git for-each-ref --format='%(refname)' | grep -vxF -e "$earlier" || :; }} |
    sed 's/^/delete /' | git update-ref --no-deref --stdin
folder="$(git rev-parse --git-dir)"
rm -rf -- "$folder"/logs "$folder"/*_HEAD "$folder"/worktrees
later() {{
    local all reached
    all="$(git cat-file --batch-all-objects --unordered \\
        --batch-check='%(objecttype) %(objectname)' | sed -n 's/^commit //p' | sort)" || exit
    reached="$(git rev-list HEAD | sort)" || exit
    [ -n "$(comm -23 <(echo "$all") <(echo "$reached"))" ]
}}
if later; then
    rm -f -- "$folder"/objects/pack/*.keep "$folder"/objects/pack/*.promisor
    rm -rf -- "$folder"/objects/info/commit-graph*
    git config --unset extensions.partialClone || :
    git repack -a -d -q
    rm -f -- "$folder"/objects/info/alternates
    git prune --expire=now
    ! later || exit {_LATER_COMMITS}
fi
"""

_NOTE_START = f"""{_PLAIN_GIT}
ignored="$(mktemp)"
git ls-files -z --cached --ignored --exclude-standard > "$ignored"
rm -rf -- "$start"
mkdir -p -- "$start"
git init --quiet --bare --template= "$start"
export GIT_DIR="$start" GIT_WORK_TREE="$PWD"
git config core.bare false
git config core.fileMode true
git config core.looseCompression 0
git config advice.addEmbeddedRepo false
mkdir -p "$start/info"
echo '{AS_THEY_ARE}' > "$start/info/attributes"
git add --all .
git update-index --add --remove -z --stdin < "$ignored"
git write-tree > "$start/start-tree"
rm -f -- "$ignored"
"""

# What cannot be added (a file that cannot be read, what is in a repository within) is left out and
# told, so that the rest is still measured. What an agent left where the patch goes makes way.
_TAKE_PATCH = f"""{_PLAIN_GIT}
folder="$(dirname -- "$patch")"
if [ -L "$folder" ] || [ ! -d "$folder" ]; then rm -f -- "$folder"; fi
mkdir -p -- "$folder"
rm -rf -- "$patch" "$patch.faults"
if ! [ -s "$start/start-tree" ]; then
    echo "no patch: $start, where the state at the start is kept, is gone" >&2
    exit 1
fi
export GIT_DIR="$start" GIT_WORK_TREE="$PWD"
rm -f -- "$start/index.lock"
git add --all --ignore-errors . 2> "$start/faults" || :
[ ! -s "$start/faults" ] || cp "$start/faults" "$patch.faults"
git diff-tree -r -p --binary --full-index --no-renames --no-color --no-ext-diff --no-textconv \\
    "$(cat "$start/start-tree")" "$(git write-tree)" > "$patch"
"""

TAKE_PATCH = CollectCommand(command=_TAKE_PATCH, timeout_seconds=600.0)


async def lay_out(session: Session, *, commit: str, mirror: Path) -> None:
    """Have the repository in the working directory at `commit`, without any later commit.

    It is the image's, or else a copy of `mirror`. Raises `EnvironmentFailed` where there is
    neither, the commit is not in it, or later ones cannot be removed.
    """
    done = await _run(session, _LAY_OUT, commit)
    if done.exit_code == _NO_REPOSITORY:
        await _copy_mirror(session, commit=commit, mirror=mirror)  # which ends at the commit
        return
    reasons = {
        _NO_GIT: "there is no program git to work with",
        _NO_COMMIT: f"the repository in {session.workdir} lacks the base commit {commit}",
    }
    _check(done, "the repository is not at its base commit", reasons)
    await _forget_later_commits(session)


async def note_start(session: Session) -> None:
    """Note the state that a patch starts from."""
    _check(await _run(session, _NOTE_START), "the state at the start is not noted", {})


async def _forget_later_commits(session: Session) -> None:
    reasons = {
        _LATER_COMMITS: "commits that came after the base commit cannot be removed from"
        f" {session.workdir}, which would show the agent the solution"
    }
    done = await _run(session, _FORGET_WHAT_CAME_LATER)
    _check(done, "later commits are not removed", reasons)


async def _copy_mirror(session: Session, *, commit: str, mirror: Path) -> None:
    if not await trio.Path(mirror).is_dir():
        raise EnvironmentFailed(
            f"there is no repository in {session.workdir}, and no mirror {mirror} to copy one from:"
            " choose an environment with the task's image, or `git clone --mirror` it to there"
        )
    with tempfile.TemporaryDirectory(prefix="agentcompass-mirror-") as folder:
        await repository_at(mirror, commit, Path(folder))
        await session.upload(Path(folder), ".git")
    done = await session.exec(["git", *SETTINGS, "reset", "--quiet", "--hard"])
    _check(done, "the files of the mirror are not checked out", {})


async def _run(session: Session, script: str, *arguments: str) -> ExecResult:
    return await session.exec(["bash", "-c", script, "bash", *arguments])


def _check(done: ExecResult, what: str, reasons: dict[int, str]) -> None:
    if not done.ok:
        said = (done.stderr.strip() or done.stdout.strip())[-300:]
        reason = reasons.get(done.exit_code or 0, said or f"exit code {done.exit_code}")
        raise EnvironmentFailed(f"{what}: {reason}")
